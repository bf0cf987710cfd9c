;; A mutable global holds a reference.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $g (mut externref) (ref.null extern))
  (func (export "reprise_run")
    (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))))
