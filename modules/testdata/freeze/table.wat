;; $waits is in the table, so every call by table of its type, however it is written, can reach the wait:
;; reprise_run and $same. $other calls by another type, and $lonely, which waits too, is in no table and is
;; called by nobody, so that its type () -> i64 brings nobody to the wait.
(module
  (type $one (func (param i32) (result i32)))
  (type $again (func (param i32) (result i32)))
  (type $long (func (result i64)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table 4 funcref)
  (elem (i32.const 0) $waits $harmless)
  (func $waits (type $one) (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))
  (func $harmless (type $long) (i64.const 1))
  (func $lonely (type $long) (drop (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0))) (i64.const 2))
  (func $same (drop (call_indirect (type $again) (i32.const 1) (i32.const 0))))
  (func $other (drop (call_indirect (type $long) (i32.const 1))))
  (func (export "reprise_run") (drop (call_indirect (type $one) (i32.const 1) (i32.const 0))) (call $other)))
