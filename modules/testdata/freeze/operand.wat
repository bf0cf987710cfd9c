;; A reference is on the stack during the wait.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (elem declare func $aside)
  (func $aside)
  (func (export "reprise_run")
    (ref.func $aside)
    (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))
    (drop)))
