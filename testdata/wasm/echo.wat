;; Output = input.
;;
;; Scratch memory is used alike in all fixtures, so that a dump can be read:
;;   0x00000  constants: names and JSON texts
;;   0x01000  the handles given to wait, i32 each
;;   0x01800  the handles that wait found ready
;;   0x02000  small texts that are built, iovecs, subscriptions
;;   0x10000  the input
;;   0x20000  results, joined one after the other, and the output
;; Names of effects start with "test."; an entry returns 0 for success and 1 after fail.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  ;; 32 pages from 0x10000 on hold the largest payload, 2 MiB.
  (memory (export "memory") 33)
  (func (export "reprise_run") (result i32)
    (call $output (i32.const 0x10000) (call $input (i32.const 0x10000) (i32.const 0x200000)))
    (i32.const 0)))
