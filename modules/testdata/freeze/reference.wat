;; $holds has a reference in a local when it waits.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $holds (local externref) (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0))))
  (func (export "reprise_run") (call $holds)))
