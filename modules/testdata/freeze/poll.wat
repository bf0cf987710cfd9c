;; A command that sleeps: it stops in poll_oneoff.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))))
