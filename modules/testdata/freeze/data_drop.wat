;; Drops a passive segment, which no instance of the same module has from its start.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data $d "abc")
  (func (export "reprise_run")
    (data.drop $d)
    (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))))
