;; Describes itself when asked, and has a workflow "hello" that outputs its input and an activity "double"
;; that outputs its input twice. It imports entry_kind, which tells the host that it can be asked.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "entry_kind" (func $entry_kind (result i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "{\"sdk\":\"wat\",\"workflows\":[\"hello\"],\"activities\":[\"double\"]}")
  (func (export "reprise_run") (result i32)
    (local $n i32)
    (if (i32.eq (call $entry_kind) (i32.const 3))
      (then (call $output (i32.const 0) (i32.const 59)) (return (i32.const 0))))
    (local.set $n (call $input (i32.const 0x10000) (i32.const 0x8000)))
    (if (i32.eq (call $entry_kind) (i32.const 1))
      (then
        (drop (call $input (i32.add (i32.const 0x10000) (local.get $n)) (i32.const 0x8000)))
        (local.set $n (i32.mul (local.get $n) (i32.const 2)))))
    (call $output (i32.const 0x10000) (local.get $n))
    (i32.const 0)))
