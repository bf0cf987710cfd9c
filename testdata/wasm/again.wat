;; The input is a digit. Waits for the signal "go", and goes on as a new run with the digit before; 0 ends with the payload of
;; the signal.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "continue_as_new" (func $again (param i32 i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "go")
  (func (export "reprise_run") (result i32)
    (drop (call $input (i32.const 16) (i32.const 16)))
    (i32.store (i32.const 32) (call $signal (i32.const 0) (i32.const 2)))
    (drop (call $wait (i32.const 32) (i32.const 1) (i64.const -1) (i32.const 48) (i32.const 1)))
    (call $output (i32.const 64) (call $result (i32.load (i32.const 32)) (i32.const 64) (i32.const 1024)))
    (if (i32.gt_u (i32.load8_u (i32.const 16)) (i32.const 0x30))
      (then
        (i32.store8 (i32.const 16) (i32.sub (i32.load8_u (i32.const 16)) (i32.const 1)))
        (call $again (i32.const 16) (i32.const 1))))
    (i32.const 0)))
