;; Traps in the way that the first byte of its input says, from '0' to 'B'; any other ends without one.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (type $none (func))
  (type $one (func (param i32) (result i32)))
  (memory (export "memory") 1 2)
  (table 4 8 funcref)
  (elem (i32.const 0) $nothing)
  (elem $passive func $nothing)
  (data $bytes "abcdef")
  (func $nothing)
  (func $grown
    (i32.store (i32.const 16) (memory.grow (i32.const 5)))
    (i32.store (i32.const 20) (memory.grow (i32.const 1)))
    (i32.store (i32.const 24) (memory.size))
    (i32.store (i32.const 28) (table.grow 0 (ref.null func) (i32.const 100)))
    (i32.store (i32.const 32) (table.grow 0 (ref.null func) (i32.const 2)))
    (i32.store (i32.const 36) (table.size 0)))
  (func (export "reprise_run") (result i32)
    (drop (call $input (i32.const 0) (i32.const 1)))
    (block $end
      (block $s (block $r (block $q (block $p (block $o (block $n (block $m (block $l (block $k (block $j
      (block $i (block $h (block $g (block $f (block $e (block $d (block $c (block $b (block $a
        (br_table $a $b $c $d $e $f $g $h $i $j $k $l $m $n $o $p $q $r $s $end
          (i32.sub (i32.load8_u (i32.const 0)) (i32.const 48))))
      (unreachable))                                                                    ;; a 0
      (i32.store (i32.const 8) (i32.div_s (i32.const 1) (i32.load (i32.const 4)))) (br $end))          ;; b 1
      (i32.store (i32.const 8) (i32.div_s (i32.const 0x80000000) (i32.sub (i32.load (i32.const 4)) (i32.const 1)))) (br $end))
      (i64.store (i32.const 8) (i64.rem_u (i64.const 1) (i64.load (i32.const 8)))) (br $end))          ;; d 3
      (i32.store (i32.const 8) (i32.load (i32.const 65533))) (br $end))                 ;; e 4
      (i64.store (i32.const 65529) (i64.const -1)) (br $end))                           ;; f 5: nothing of it is written
      (i32.store (i32.const 8) (i32.load offset=0xffffffff (i32.const 0xffffffff))) (br $end)) ;; g 6
      (memory.fill (i32.const 65530) (i32.const 7) (i32.const 7)) (br $end))            ;; h 7
      (memory.copy (i32.const 100) (i32.const 65530) (i32.const 7)) (br $end))          ;; i 8
      (memory.init $bytes (i32.const 100) (i32.const 3) (i32.const 4)) (br $end))       ;; j 9
      (data.drop $bytes) (memory.init $bytes (i32.const 100) (i32.const 0) (i32.const 1)) (br $end)) ;; k :
      (call_indirect (type $none) (i32.const 9)) (br $end))                             ;; l ;
      (call_indirect (type $none) (i32.const 1)) (br $end))                             ;; m <
      (drop (call_indirect (type $one) (i32.const 1) (i32.const 0))) (br $end))         ;; n =
      (table.set 0 (i32.const 7) (ref.null func)) (br $end))                            ;; o >
      (table.init $passive (i32.const 3) (i32.const 0) (i32.const 2)) (br $end))        ;; p ?
      (i32.store (i32.const 8) (i32.trunc_f64_s (f64.sqrt (f64.const -1)))) (br $end))  ;; q @
      (i64.store (i32.const 8) (i64.trunc_f32_u (f32.const 0x1p64))) (br $end))         ;; r A
      (call $grown) (unreachable))                                                      ;; s B
    (i32.const 0)))
