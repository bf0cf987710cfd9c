;; Waits without limit for nothing: no completion can end that.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 3)
  (func (export "reprise_run") (result i32)
    (drop (call $wait (i32.const 0x1000) (i32.const 0) (i64.const -1) (i32.const 0x1800) (i32.const 1)))
    (i32.const 0)))
