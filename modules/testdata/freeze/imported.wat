;; The wait itself is in the table.
(module
  (type $wait (func (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (type $wait)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $wait)
  (func (export "reprise_run")
    (drop (call_indirect (type $wait) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))
