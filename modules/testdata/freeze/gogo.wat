;; Has the globals of a Go program and nothing else of it.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global (mut i32) (i32.const 0))
  (global (mut i64) (i64.const 0)) (global (mut i64) (i64.const 0)) (global (mut i64) (i64.const 0))
  (global (mut i64) (i64.const 0)) (global (mut i64) (i64.const 0)) (global (mut i64) (i64.const 0))
  (global (mut i32) (i32.const 0))
  (func (export "reprise_run")
    (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))))
