;; A durable workflow as text of WebAssembly, without an SDK: it asks an activity for a greeting, sets a timer, and waits for both.
;; Input and output are JSON strings, "Ada" and "Hello, Ada!". What each import does is in docs/ABI.md.
(module
  ;; Each import must have exactly this type. Only what is used is imported.
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "activity" (func $activity (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))

  ;; The host reads and writes here. From 0: what is constant; 64: handles; 128: the input; 1024: the greeting.
  (memory (export "memory") 1)
  (data (i32.const 0) "greeting\"Hello, ")

  ;; The module has one activity, which is entered by the function of its name. It gives "Hello, , the input without its quotes, !".
  (func (export "greeting")
    (local $n i32)
    (local.set $n (call $read-input))
    (call $copy (i32.const 1024) (i32.const 8) (i32.const 8))
    (call $copy (i32.const 1032) (i32.const 129) (i32.sub (local.get $n) (i32.const 2)))
    (i32.store16 (i32.add (i32.const 1030) (local.get $n)) (i32.const 0x2221)) ;; !"
    (call $output (i32.const 1024) (i32.add (local.get $n) (i32.const 8))))

  ;; A run begins here, and does so again when it is carried on after a crash: then each wait gives what it gave before.
  (func (export "reprise_run")
    (local $asked i32) (local $slept i32) (local $n i32)
    (local.set $n (call $read-input))
    ;; Requests return at once, with a handle. The activity's name has 8 bytes at 0; it has no options.
    (local.set $asked (call $activity (i32.const 0) (i32.const 8) (i32.const 128) (local.get $n) (i32.const 0) (i32.const 0)))
    (local.set $slept (call $timer (i64.const 1000000000)))
    ;; The only place where the run may be suspended. It waits for one of the two; a handle that is done needs no second wait.
    (call $wait-for (local.get $asked))
    (call $wait-for (local.get $slept))
    ;; Results are pulled: the length is what the call returns, and it writes when there is room for all.
    (local.set $n (call $result (local.get $asked) (i32.const 1024) (i32.const 2048)))
    (if (i32.eq (call $status (local.get $asked)) (i32.const 1)) ;; ok
      (then (call $output (i32.const 1024) (local.get $n)))
      (else (call $fail (i32.const 1024) (local.get $n))))) ;; the result of what failed is its failure

  (func $wait-for (param $handle i32)
    (i32.store (i32.const 64) (local.get $handle))
    (drop (call $wait (i32.const 64) (i32.const 1) (i64.const -1) (i32.const 68) (i32.const 1))))

  ;; The length of the input, which is written to 128; a trap when it is no string of at most 800 bytes.
  (func $read-input (result i32)
    (local $n i32)
    (local.set $n (call $input (i32.const 128) (i32.const 800)))
    (if (i32.or (i32.gt_u (local.get $n) (i32.const 800)) (i32.lt_u (local.get $n) (i32.const 2))) (then unreachable))
    (if (i32.ne (i32.load8_u (i32.const 128)) (i32.const 34)) (then unreachable))
    (local.get $n))

  (func $copy (param $to i32) (param $from i32) (param $n i32)
    (loop $more
      (if (i32.eqz (local.get $n)) (then (return)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (i32.store8 (i32.add (local.get $to) (local.get $n)) (i32.load8_u (i32.add (local.get $from) (local.get $n))))
      (br $more))))
