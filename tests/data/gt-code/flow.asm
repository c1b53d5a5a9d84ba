// Control flow of every kind, waits across it, and syncs with masks. make_fixtures has it assembled for each
// generation; a line with {{SET}} is left out for generations that are not in the set.
         (W)     mov (8|M0) r10.0<1>:ud r20.0<REGION>:ud
         (W)     mov (8|M0) r11.0<1>:f r21.0<REGION>:f
         (W)     add (8|M0) r12.0<1>:ud r10.0<REGION>:ud r22.0<REGION>:ud {@1}
         (W)     add (8|M0) r13.0<1>:f r11.0<REGION>:f r23.0<REGION>:f {F@1} {{FROM_XE_HP}}
         (W)     add (8|M0) r14.0<1>:ud r12.0<REGION>:ud r23.0<REGION>:ud {I@1} {{FROM_XE_HP}}
         (W)     mov (8|M0) r15.0<1>:ud r13.0<REGION>:ud {A@2} {{FROM_XE_HP}}
                 math.sin (8|M0) r16.0<1>:f r17.0<REGION>:f {$4} {{TO_XE_HPG}}
                 math.sin (16|M0) r16.0<1>:f r17.0<REGION>:f {{FROM_XE_HPC}}
                 add (8|M0) r18.0<1>:f r16.0<REGION>:f 0x0:f {$4.dst} {{TO_XE_HPG}}
                 add (16|M0) r18.0<1>:f r16.0<REGION>:f 0x0:f {M@1} {{FROM_XE_HPC}}
                 mov (8|M0) r30.0<1>:df r32.0<1;1,0>:df {{FROM_XE_HPC}}
                 mov (8|M0) r34.0<1>:df r30.0<1;1,0>:df {L@1} {{FROM_XE_HPC}}
         (W)     srnd (8|M0) r65.0<1>:hf r66.0<1;1,0>:f r67.0<1;1,0>:f {{FROM_XE_HPC}}
         (W)     mov (8|M0) r68.0<1>:ud r65.0<1;1,0>:ud {I@1} {{XE3P}}
         (W)     mov (8|M0) r68.0<1>:ud r65.0<1;1,0>:ud {F@1} {{XE_HPC_TO_XE3}}
         (W)     mov (1|M0) s0.0<1>:ud r34.0<0;1,0>:ud {{FROM_XE3}}
         (W)     mov (1|M0) s0.4<1>:ud s0.0<0;1,0>:ud {S@1} {{FROM_XE3}}
         (W)     mov (8|M0) r40.0<1>:ud r20.0<REGION>:ud {$0}
         (W)     mov (8|M0) r41.0<1>:ud r20.0<REGION>:ud {$1}
                 send.ugm (16|M0) r70 r72 null:0 0x0 0x08200580 {I@1,$10} {{XE_HPC_TO_XE3}}
         (W)     send.ugm (1|M0) null r72 null:0 0x0 a0.0 {F@2,$11} {{XE_HPC_TO_XE3}}
                 sendc.slm (16|M0) null r72 r74:1 0x0 0x0400058C {A@3,$12} {{XE_HPC_TO_XE3}}
                 sendg.ugm (16|M0) r70 r72:1 null:0 s0.16 0x100000005180 {I@1,$10} {{XE3P}}
                 sendgc.slm (16|M0) null r72:1 r74:1 0x100C {$2.inc} {{XE3P}}
                 sendg.ugm (16|M0) r76 r72:1 null:0 s0.16 0x100000005180 {$2.inc} {{XE3P}}
         (W)     mov (8|M0) r43.0<1>:ud r20.0<REGION>:ud {$2}
         (f0.0)  if (8|M0) ELSE_1 ENDIF_1
                 mov (8|M0) r44.0<1>:ud r20.0<REGION>:ud {$3}
                 mov (8|M0) r45.0<1>:ud r40.0<REGION>:ud {$0.src}
                 else (8|M0) ENDIF_1 ENDIF_1
ELSE_1:
                 mov (8|M0) r46.0<1>:ud r20.0<REGION>:ud {$3}
                 mov (8|M0) r47.0<1>:ud r41.0<REGION>:ud {$1.dst}
ENDIF_1:
                 endif (8|M0) LOOP_1
LOOP_1:
                 mov (8|M0) r48.0<1>:ud r46.0<REGION>:ud {$3.dst}
         (~f1.0) break (8|M0) END_LOOP_1 END_LOOP_1
                 add (8|M0) r50.0<1>:ud r10.0<REGION>:ud r22.0<REGION>:ud
                 add (8|M0) r51.0<1>:ud r50.0<REGION>:ud r22.0<REGION>:ud {@1,$5.dst}
         (f0.1)  cont (8|M0) NEXT_1 NEXT_1
                 mov (8|M0) r52.0<1>:ud r20.0<REGION>:ud {$5}
NEXT_1:
         (f0.0)  while (8|M0) LOOP_1
END_LOOP_1:
                 sync.allrd ($0,$1)
                 sync.allwr null
                 sync.nop null {$5.src}
         (f0.0)  halt (8|M0) LAST LAST
         (W&f0.1) jmpi FORWARD
         (W)     mov (8|M0) r53.0<1>:ud r20.0<REGION>:ud {$6}
         (W)     jmpi SKIP
FORWARD:
         (W)     mov (8|M0) r54.0<1>:ud r20.0<REGION>:ud {$6}
SKIP:
         (W)     mov (8|M0) r55.0<1>:ud r20.0<REGION>:ud {$6.dst}
                 call (8|M0) r60.0 FUNCTION
                 mov (8|M0) r56.0<1>:ud r20.0<REGION>:ud {$7.dst}
BACK:
         (f0.0)  goto (8|M0) MEET FAR
                 mov (8|M0) r57.0<1>:ud r20.0<REGION>:ud {$8}
                 goto (8|M0) MEET FAR
MEET:
                 join (8|M0) FAR
                 mov (8|M0) r58.0<1>:ud r20.0<REGION>:ud {$8.dst}
         (f1.1)  goto.b (8|M0) FAR BACK
FAR:
                 join (8|M0) LAST
         (f0.0)  brd (8|M0) LAST {{TO_XE2}}
         (f0.0)  brc (8|M0) LAST LAST {{TO_XE2}}
                 sync.nop null {@1} {{TO_XE_HPG}}
                 sync.allrd ($8,$9)
                 sync.bar null
                 sync.nop null {$10.dst} {{FROM_XE_HPC}}
                 sync.nop null {$12.src} {{FROM_XE_HPC}}
LAST:
                 join (8|M0) END
                 mov (8|M0) r59.0<1>:ud r20.0<REGION>:ud {$9}
                 mov (8|M0) r59.0<1>:ud r20.0<REGION>:ud {$9}
END:
         (W)     jmpi FUNCTION
FUNCTION:
         (W)     mov (8|M0) r61.0<1>:ud r20.0<REGION>:ud {$7}
         (W)     mov (8|M0) r62.0<1>:ud r20.0<REGION>:ud {$7.src}
                 calla (8|M0) r63.0 r5.0
                 nop
                 ret (8|M0) r60.0
                 illegal
