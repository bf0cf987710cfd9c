;; n effects "test.step", one after the other, n being the input in decimal. The input of each is its
;; number from 1 in decimal; the output is their results, joined. A failed step fails the run with its
;; failure.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "test.step")
  ;; Reads the input as a decimal number.
  (func $decimal (result i64)
    (local $p i32) (local $end i32) (local $n i64)
    (local.set $p (i32.const 0x10000))
    (local.set $end (i32.add (local.get $p) (call $input (i32.const 0x10000) (i32.const 0x10000))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
      (local.set $n (i64.add (i64.mul (local.get $n) (i64.const 10))
        (i64.sub (i64.load8_u (local.get $p)) (i64.const 48))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next)))
    (local.get $n))
  ;; Waits for one handle and returns its status.
  (func $await (param $h i32) (result i32)
    (i32.store (i32.const 0x1000) (local.get $h))
    (drop (call $wait (i32.const 0x1000) (i32.const 1) (i64.const -1) (i32.const 0x1800) (i32.const 1)))
    (call $status (local.get $h)))
  ;; Writes n in decimal so that it ends at 0x2020, and returns where it starts.
  (func $write (param $n i32) (result i32)
    (local $p i32)
    (local.set $p (i32.const 0x2020))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
      (local.set $n (i32.div_u (local.get $n) (i32.const 10)))
      (br_if $next (local.get $n)))
    (local.get $p))
  (func (export "reprise_run") (result i32)
    (local $n i32) (local $i i32) (local $h i32) (local $p i32) (local $used i32)
    (local.set $n (i32.wrap_i64 (call $decimal)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $p (call $write (local.get $i)))
      (local.set $h (call $effect (i32.const 0) (i32.const 9)
        (local.get $p) (i32.sub (i32.const 0x2020) (local.get $p)) (i32.const 0) (i32.const 0)))
      (if (i32.ne (call $await (local.get $h)) (i32.const 1))
        (then
          (call $fail (i32.const 0x20000) (call $result (local.get $h) (i32.const 0x20000) (i32.const 0x10000)))
          (return (i32.const 1))))
      (local.set $used (i32.add (local.get $used) (call $result (local.get $h)
        (i32.add (i32.const 0x20000) (local.get $used)) (i32.sub (i32.const 0x10000) (local.get $used)))))
      (br $next)))
    (call $output (i32.const 0x20000) (local.get $used))
    (i32.const 0)))
