/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the driver that copy or set memory, with CUPTI's callback ids, apart from those whose kernels in the
 * driver are counted. cupti_layout.c compares the ids with NVIDIA's headers.
 */
#pragma once

/* Since CUDA 13; the first four since 12.8. */
#define BATCH_COPY_CALLS(CALL)                                                                                         \
	CALL(cuMemcpyBatchAsync, 776)                                                                                  \
	CALL(cuMemcpyBatchAsync_ptsz, 777)                                                                             \
	CALL(cuMemcpy3DBatchAsync, 778)                                                                                \
	CALL(cuMemcpy3DBatchAsync_ptsz, 779)                                                                           \
	CALL(cuMemcpyBatchAsync_v2, 796)                                                                               \
	CALL(cuMemcpyBatchAsync_v2_ptsz, 797)                                                                          \
	CALL(cuMemcpy3DBatchAsync_v2, 798)                                                                             \
	CALL(cuMemcpy3DBatchAsync_v2_ptsz, 799)

#define COPY_CALLS(CALL)                                                                                               \
	BATCH_COPY_CALLS(CALL)                                                                                         \
	EARLY_COPY_CALLS(CALL)

#define EARLY_COPY_CALLS(CALL)                                                                                         \
	LINEAR_COPY_CALLS(CALL)                                                                                        \
	OTHER_COPY_CALLS(CALL)

/* Those whose parameters are two addresses and a number of bytes, as struct cupti_memory_call. */
#define LINEAR_COPY_CALLS(CALL)                                                                                        \
	CALL(cuMemcpyHtoD_v2, 276)                                                                                     \
	CALL(cuMemcpyHtoDAsync_v2, 277)                                                                                \
	CALL(cuMemcpyDtoH_v2, 278)                                                                                     \
	CALL(cuMemcpyDtoHAsync_v2, 279)                                                                                \
	CALL(cuMemcpy, 305)                                                                                            \
	CALL(cuMemcpyAsync, 306)                                                                                       \
	CALL(cuMemcpyHtoD_v2_ptds, 397)                                                                                \
	CALL(cuMemcpyDtoH_v2_ptds, 398)                                                                                \
	CALL(cuMemcpy_ptds, 408)                                                                                       \
	CALL(cuMemcpyAsync_ptsz, 418)                                                                                  \
	CALL(cuMemcpyHtoDAsync_v2_ptsz, 421)                                                                           \
	CALL(cuMemcpyDtoHAsync_v2_ptsz, 422)

#define OTHER_COPY_CALLS(CALL)                                                                                         \
	CALL(cuMemsetD2D8Async, 222)                                                                                   \
	CALL(cuMemsetD2D16Async, 224)                                                                                  \
	CALL(cuMemsetD2D32Async, 226)                                                                                  \
	CALL(cuMemcpy_v2, 248)                                                                                         \
	CALL(cuMemsetD2D8_v2, 252)                                                                                     \
	CALL(cuMemsetD2D16_v2, 253)                                                                                    \
	CALL(cuMemsetD2D32_v2, 254)                                                                                    \
	CALL(cuMemcpyAtoH_v2, 282)                                                                                     \
	CALL(cuMemcpyAtoHAsync_v2, 283)                                                                                \
	CALL(cuMemcpyAtoD_v2, 284)                                                                                     \
	CALL(cuMemcpyDtoA_v2, 285)                                                                                     \
	CALL(cuMemcpyAtoA_v2, 286)                                                                                     \
	CALL(cuMemcpy2D_v2, 287)                                                                                       \
	CALL(cuMemcpy2DUnaligned_v2, 288)                                                                              \
	CALL(cuMemcpy2DAsync_v2, 289)                                                                                  \
	CALL(cuMemcpy3D_v2, 290)                                                                                       \
	CALL(cuMemcpy3DAsync_v2, 291)                                                                                  \
	CALL(cuMemcpyHtoA_v2, 292)                                                                                     \
	CALL(cuMemcpyHtoAAsync_v2, 293)                                                                                \
	CALL(cuMemcpyPeer, 318)                                                                                        \
	CALL(cuMemcpyPeerAsync, 319)                                                                                   \
	CALL(cuMemcpy3DPeer, 320)                                                                                      \
	CALL(cuMemcpy3DPeerAsync, 321)                                                                                 \
	CALL(cuMemcpyDtoD_v2_ptds, 399)                                                                                \
	CALL(cuMemcpyDtoA_v2_ptds, 400)                                                                                \
	CALL(cuMemcpyAtoD_v2_ptds, 401)                                                                                \
	CALL(cuMemcpyHtoA_v2_ptds, 402)                                                                                \
	CALL(cuMemcpyAtoH_v2_ptds, 403)                                                                                \
	CALL(cuMemcpyAtoA_v2_ptds, 404)                                                                                \
	CALL(cuMemcpy2D_v2_ptds, 405)                                                                                  \
	CALL(cuMemcpy2DUnaligned_v2_ptds, 406)                                                                         \
	CALL(cuMemcpy3D_v2_ptds, 407)                                                                                  \
	CALL(cuMemcpyPeer_ptds, 409)                                                                                   \
	CALL(cuMemcpy3DPeer_ptds, 410)                                                                                 \
	CALL(cuMemsetD8_v2_ptds, 411)                                                                                  \
	CALL(cuMemsetD16_v2_ptds, 412)                                                                                 \
	CALL(cuMemsetD32_v2_ptds, 413)                                                                                 \
	CALL(cuMemsetD2D8_v2_ptds, 414)                                                                                \
	CALL(cuMemsetD2D16_v2_ptds, 415)                                                                               \
	CALL(cuMemsetD2D32_v2_ptds, 416)                                                                               \
	CALL(cuMemcpyHtoAAsync_v2_ptsz, 419)                                                                           \
	CALL(cuMemcpyAtoHAsync_v2_ptsz, 420)                                                                           \
	CALL(cuMemcpy2DAsync_v2_ptsz, 424)                                                                             \
	CALL(cuMemcpy3DAsync_v2_ptsz, 425)                                                                             \
	CALL(cuMemcpyPeerAsync_ptsz, 426)                                                                              \
	CALL(cuMemcpy3DPeerAsync_ptsz, 427)                                                                            \
	CALL(cuMemsetD2D8Async_ptsz, 431)                                                                              \
	CALL(cuMemsetD2D16Async_ptsz, 432)                                                                             \
	CALL(cuMemsetD2D32Async_ptsz, 433)
