;; Changes its table, which is in no memory.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (func $moves (table.set 0 (i32.const 0) (ref.null func)))
  (func (export "reprise_run")
    (call $moves)
    (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))))
