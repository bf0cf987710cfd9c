;; What it does is said by the first byte of its input. "p" starts a child run with the input "c", waits for it and ends with its
;; outcome; "m" does so with a child of the module "other". "c" waits for a minute and ends with "child". A digit waits for the signal "go": above "0" it continues as new with
;; the digit below, and "0" ends with the signal's payload.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "child" (func $child (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (import "reprise_v1" "continue_as_new" (func $continue_as_new (param i32 i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "family")
  (data (i32.const 16) "c")
  (data (i32.const 32) "child")
  (data (i32.const 48) "go")
  (data (i32.const 64) "{\"module\":\"other\"}")
  ;; Waits for one handle and ends with its outcome, unless something else is output later.
  (func $await (param $h i32)
    (i32.store (i32.const 0x1000) (local.get $h))
    (drop (call $wait (i32.const 0x1000) (i32.const 1) (i64.const -1) (i32.const 0x1800) (i32.const 1)))
    (call $output (i32.const 0x20000) (call $result (local.get $h) (i32.const 0x20000) (i32.const 0x8000))))
  (func (export "reprise_run") (result i32)
    (local $what i32)
    (drop (call $input (i32.const 0x10000) (i32.const 0x8000)))
    (local.set $what (i32.load8_u (i32.const 0x10000)))
    (if (i32.eq (local.get $what) (i32.const 112)) ;; p
      (then
        (call $await (call $child (i32.const 0) (i32.const 6) (i32.const 16) (i32.const 1) (i32.const 0) (i32.const 0)))
        (return (i32.const 0))))
    (if (i32.eq (local.get $what) (i32.const 109)) ;; m
      (then
        (call $await (call $child (i32.const 0) (i32.const 6) (i32.const 16) (i32.const 1) (i32.const 64) (i32.const 18)))
        (return (i32.const 0))))
    (if (i32.eq (local.get $what) (i32.const 99)) ;; c
      (then
        (call $await (call $timer (i64.const 60000000000)))
        (call $output (i32.const 32) (i32.const 5))
        (return (i32.const 0))))
    (call $await (call $signal (i32.const 48) (i32.const 2)))
    (if (i32.gt_u (local.get $what) (i32.const 48)) ;; above 0
      (then
        (i32.store8 (i32.const 0x10000) (i32.sub (local.get $what) (i32.const 1)))
        (call $continue_as_new (i32.const 0x10000) (i32.const 1))))
    (i32.const 0)))
