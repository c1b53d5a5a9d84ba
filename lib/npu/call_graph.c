/* SPDX-License-Identifier: Apache-2.0 */
/* See call_graph.h. */
#include <string.h>
#include "npu/call_graph.h"

#define PREFIX "ivpu_"

struct callers {
	const char *function, *callers;
};

/*
 * From the sources of Linux 6.13 and the modules of 6.12 and 7.2 (tests/lab/tests/test_npu_call_graph.py), by file of
 * drivers/accel/ivpu. A caller that the compiler inlines is replaced by its own caller, and names of other versions are
 * added. Several threads write to one trace, so a pair means "possible caller".
 */
static const struct callers table[] = {
	/* ivpu_drv.c */
	{ "mmu_context_init", "open mmu_global_context_init mmu_user_context_init" },
	{ "hw_btrs_ratio_to_freq", "get_param_ioctl" },
	{ "ms_cleanup", "postclose ms_cleanup_all" },
	{ "file_priv_put", "postclose job_destroy job_destroy_work_fn" },
	{ "cmdq_release_all_locked", "file_priv_put dev_fini" },
	{ "bo_unbind_all_bos_from_context", "file_priv_put dev_fini" },
	{ "mmu_context_fini", "file_priv_put dev_fini mmu_global_context_fini "
			      "mmu_reserved_context_fini mmu_reserved_context_init "
			      "mmu_user_context_fini mmu_user_context_init" },
	{ "boot", "resume probe" },
	{ "fw_boot_params_setup", "boot" },
	{ "hw_boot_fw", "boot" },
	{ "wait_for_ready", "boot" },
	{ "hw_ip_irq_clear", "boot" },
	{ "hw_irq_enable", "boot" },
	{ "ipc_enable", "boot" },
	{ "ipc_consumer_add", "wait_for_ready job_done_consumer_init ipc_send_and_wait "
			      "ipc_send_receive_internal" },
	{ "prepare_for_reset", "pm_runtime_suspend_cb pm_suspend_cb pm_recovery_work "
			       "pm_reset_prepare_cb" },
	{ "shutdown", "pm_runtime_suspend_cb pm_suspend_cb dev_fini pm_recovery_work probe" },
	{ "hw_irq_disable", "prepare_for_reset boot dev_fini pm_trigger_recovery" },
	{ "ipc_disable", "prepare_for_reset boot dev_fini" },
	{ "mmu_disable", "prepare_for_reset pm_runtime_suspend_cb dev_fini resume" },
	{ "hw_power_down", "shutdown resume" },
	{ "ipc_irq_thread_handler", "irq_thread_handler" },
	/* ivpu_pm.c */
	{ "resume", "pm_runtime_resume_cb pm_resume_cb pm_recovery_work pm_reset_complete" },
	{ "jsm_pwr_d0i3_enter", "pm_runtime_suspend_cb pm_suspend_cb" },
	{ "pm_prepare_warm_boot", "pm_runtime_suspend_cb pm_suspend_cb" },
	{ "hw_power_up", "resume probe" },
	{ "mmu_enable", "resume mmu_init" },
	{ "dev_coredump", "pm_recovery_work pm_runtime_suspend_cb boot job_timeout_work" },
	{ "jobs_abort_all", "pm_recovery_work pm_reset_prepare_cb pm_reset_complete dev_fini" },
	/* ivpu_hw.c */
	{ "hw_btrs_d0i3_disable", "hw_power_up" },
	{ "hw_btrs_wp_drive", "hw_power_up hw_reset" },
	{ "hw_btrs_profiling_freq_reg_set_lnl", "hw_power_up" },
	{ "hw_btrs_ats_print_lnl", "hw_power_up" },
	{ "hw_ip_host_ss_configure", "hw_power_up" },
	{ "hw_ip_idle_gen_disable", "hw_power_up" },
	{ "hw_btrs_wait_for_clock_res_own_ack", "hw_power_up" },
	{ "hw_ip_pwr_domain_enable", "hw_power_up" },
	{ "hw_ip_host_ss_axi_enable", "hw_power_up" },
	{ "hw_btrs_set_port_arbitration_weights_lnl", "hw_power_up" },
	{ "hw_ip_top_noc_enable", "hw_power_up" },
	{ "hw_ip_read_perf_timer_counter", "hw_power_down" },
	{ "hw_reset", "hw_power_down pm_reset_prepare_cb" },
	{ "hw_btrs_d0i3_enable", "hw_power_down" },
	{ "hw_btrs_is_idle", "hw_power_down hw_irq_handler pm_runtime_suspend_cb pm_suspend_cb" },
	{ "hw_btrs_ip_reset", "hw_reset" },
	{ "hw_ip_snoop_disable", "hw_boot_fw" },
	{ "hw_ip_tbu_mmu_enable", "hw_boot_fw" },
	{ "hw_ip_soc_cpu_boot", "hw_boot_fw" },
	{ "hw_ip_irq_enable", "hw_irq_enable" },
	{ "hw_btrs_irq_enable", "hw_irq_enable" },
	{ "hw_ip_irq_disable", "hw_irq_disable" },
	{ "hw_btrs_irq_disable", "hw_irq_disable" },
	{ "hw_btrs_global_int_disable", "hw_irq_handler" },
	{ "hw_btrs_global_int_enable", "hw_irq_handler" },
	{ "hw_btrs_irq_handler_lnl", "hw_irq_handler" },
	{ "hw_btrs_irq_handler_mtl", "hw_irq_handler" },
	{ "hw_ip_irq_handler_40xx", "hw_irq_handler" },
	{ "hw_ip_irq_handler_37xx", "hw_irq_handler" },
	/* ivpu_hw_ip.c; until 6.10 ivpu_hw_37xx.c and ivpu_hw_40xx.c */
	{ "ipc_irq_handler", "wait_for_ready hw_ip_irq_handler_40xx hw_ip_irq_handler_37xx "
			     "hw_37xx_irq_handler hw_40xx_irq_handler" },
	/* ivpu_ipc.c */
	{ "hw_ip_ipc_rx_count_get", "ipc_irq_handler" },
	{ "hw_ip_ipc_rx_addr_get", "ipc_irq_handler" },
	{ "ipc_msg_dump", "ipc_irq_handler ipc_send ipc_tx_prepare" },
	{ "jsm_msg_dump", "ipc_irq_handler ipc_send ipc_tx_prepare" },
	{ "ipc_rx_msg_del", "ipc_receive ipc_irq_thread_handler ipc_irq_work_fn ipc_consumer_del "
			    "ipc_disable" },
	{ "ipc_receive", "wait_for_ready ipc_send_receive_internal" },
	{ "ipc_consumer_del", "wait_for_ready ipc_send_receive_internal ipc_send_and_wait "
			      "job_done_consumer_fini" },
	{ "ipc_send", "ipc_send_receive_internal ipc_send_and_wait" },
	{ "hw_ip_ipc_tx_set", "ipc_send ipc_send_and_wait ipc_send_receive_internal" },
	{ "ipc_send_receive_internal", "ipc_send_receive ipc_send_and_wait jsm_pwr_d0i3_enter jsm_dct_disable "
				       "jsm_dct_enable jsm_hws_setup_priority_bands jsm_msg_freq_config "
				       "jsm_state_dump" },
	/* ivpu_jsm_msg.c */
	{ "ipc_send_receive", "jsm_register_db jsm_unregister_db jsm_hws_create_cmdq "
			      "jsm_hws_destroy_cmdq jsm_hws_register_db "
			      "jsm_hws_set_context_sched_properties jsm_hws_setup_priority_bands "
			      "jsm_hws_resume_engine jsm_hws_set_scheduling_log jsm_context_release "
			      "jsm_get_heartbeat jsm_reset_engine jsm_preempt_engine jsm_dct_enable "
			      "jsm_dct_disable jsm_metric_streamer_start jsm_metric_streamer_stop "
			      "jsm_metric_streamer_update jsm_metric_streamer_info "
			      "jsm_msg_freq_config jsm_trace_get_capability jsm_trace_set_config "
			      "jsm_dyndbg_control" },
	{ "hw_btrs_wait_for_idle", "jsm_pwr_d0i3_enter" },
	{ "rpm_get", "submit_ioctl cmdq_submit_ioctl submit ipc_send_receive "
		     "cmdq_create_ioctl cmdq_destroy_ioctl force_recovery_fn "
		     "hw_btrs_cfg_freq_set ipc_send_and_wait ms_get_data_ioctl "
		     "ms_start_ioctl ms_stop_ioctl" },
	{ "rpm_put", "ipc_send_receive job_signal_and_destroy job_destroy_work_fn "
		     "cmdq_abort_all_jobs cmdq_create_ioctl cmdq_destroy_ioctl "
		     "context_abort_work_fn force_recovery_fn hw_btrs_cfg_freq_set "
		     "ipc_send_and_wait jobs_abort_all ms_get_data_ioctl ms_start_ioctl "
		     "ms_stop_ioctl submit submit_ioctl" },
	{ "job_done_callback", "ipc_irq_thread_handler ipc_irq_work_fn" },
	/* ivpu_job.c */
	{ "file_priv_get", "submit_ioctl cmdq_submit_ioctl submit" },
	{ "bo_create_global", "submit_ioctl cmdq_submit_ioctl submit cmdq_create fw_init ipc_init "
			      "ms_get_info_ioctl ms_start_ioctl" },
	{ "jsm_register_db", "submit_ioctl cmdq_submit_ioctl submit cmdq_create_ioctl" },
	{ "hw_ip_db_set", "submit_ioctl cmdq_submit_ioctl submit" },
	{ "start_job_timeout_detection", "submit_ioctl cmdq_submit_ioctl submit job_done_callback job_signal "
					 "job_timeout_work job_signal_and_destroy" },
	{ "job_signal_and_destroy", "job_done_callback context_abort_thread_handler jobs_abort_all "
				    "submit_ioctl" },
	{ "job_signal", "job_done_callback jobs_abort_all cmdq_abort_all_jobs "
			"context_abort_work_fn submit" },
	{ "cmdq_abort_all_jobs", "cmdq_destroy_ioctl" },
	{ "job_destroy", "job_signal_and_destroy job_destroy_work_fn cmdq_abort_all_jobs "
			 "context_abort_work_fn jobs_abort_all submit submit_ioctl" },
	{ "stop_job_timeout_detection", "job_signal_and_destroy job_signal" },
	{ "cmdq_fini", "cmdq_release_all_locked context_abort_locked" },
	{ "jsm_unregister_db", "cmdq_fini cmdq_unregister" },
	{ "bo_free", "cmdq_fini cmdq_release_all_locked cmdq_destroy_ioctl cmdq_create "
		     "fw_fini fw_init ipc_fini ipc_init ms_cleanup ms_start_ioctl "
		     "ms_stop_ioctl submit cmdq_free submit_ioctl" },
	/* ivpu_gem.c */
	{ "gem_create_object", "bo_create_ioctl bo_create gem_prime_import" },
	{ "gem_bo_open", "bo_create_ioctl bo_create_from_userptr_ioctl" },
	{ "bo_alloc_vpu_addr", "gem_bo_open bo_create" },
	{ "bo_create", "bo_create_global bo_create_runtime submit_ioctl cmdq_create_ioctl "
		       "cmdq_create fw_init submit" },
	{ "bo_pin", "submit_ioctl cmdq_submit_ioctl submit bo_create" },
	{ "bo_bind", "submit_ioctl cmdq_submit_ioctl submit bo_create" },
	{ "gem_bo_free", "bo_free" },
	{ "bo_unbind_locked", "gem_bo_free bo_unbind_all_bos_from_context" },
	/* ivpu_mmu_context.c */
	{ "mmu_context_insert_node", "bo_alloc_vpu_addr" },
	{ "mmu_context_map_sgt", "bo_pin bo_bind" },
	{ "mmu_context_unmap_sgt", "bo_unbind_locked" },
	{ "mmu_context_remove_node", "bo_unbind_locked" },
	{ "mmu_context_map_page", "mmu_context_map_sgt" },
	{ "mmu_cd_set", "mmu_context_map_sgt mmu_reserved_context_init" },
	{ "mmu_invalidate_tlb", "mmu_context_map_sgt mmu_context_unmap_sgt mmu_context_set_pages_ro" },
	{ "pgtable_alloc_page", "mmu_context_map_page mmu_reserved_context_init mmu_context_init" },
	{ "pgtable_free_page", "mmu_context_fini mmu_context_map_page" },
	{ "mmu_cd_clear", "mmu_context_fini mmu_reserved_context_fini" },
	/* ivpu_mmu.c */
	{ "mmu_reg_write_cr0", "mmu_enable" },
	{ "mmu_reg_write_irq_ctrl", "mmu_enable" },
	{ "mmu_cdtab_entry_set", "mmu_cd_set mmu_cd_clear" },
	{ "mmu_cmdq_cmd_write", "mmu_enable mmu_cmdq_sync mmu_cdtab_entry_set mmu_invalidate_tlb "
				"mmu_disable_ssid_events mmu_cd_add" },
	{ "mmu_cmdq_sync", "mmu_enable mmu_cdtab_entry_set mmu_invalidate_tlb "
			   "mmu_disable_ssid_events mmu_cd_add" },
	/* Since 6.14 or later. */
	{ "submit", "submit_ioctl cmdq_submit_ioctl" },
	{ "cmdq_create", "cmdq_create_ioctl submit_ioctl submit" },
	{ "jsm_hws_create_cmdq", "submit_ioctl cmdq_submit_ioctl submit cmdq_create_ioctl" },
	{ "jsm_hws_set_context_sched_properties", "submit_ioctl cmdq_submit_ioctl submit cmdq_create_ioctl" },
	{ "jsm_hws_register_db", "submit_ioctl cmdq_submit_ioctl submit cmdq_create_ioctl" },
	{ "cmdq_unregister", "cmdq_release_all_locked cmdq_destroy_ioctl context_abort_locked "
			     "file_priv_put" },
	{ "jsm_hws_destroy_cmdq", "cmdq_fini cmdq_unregister submit" },
	{ "context_abort_locked", "context_abort_work_fn context_abort_thread_handler" },
	{ "jsm_context_release", "context_abort_locked file_priv_put" },
	{ "mmu_disable_ssid_events", "context_abort_locked mmu_irq_evtq_handler" },
	{ "mmu_discard_events", "context_abort_work_fn context_abort_locked" },
	{ "mmu_evtq_set", "mmu_discard_events" },
	{ "jsm_hws_resume_engine", "context_abort_work_fn resume_engine_fn context_abort_thread_handler" },
	{ "jsm_reset_engine", "context_abort_work_fn reset_engine_fn context_abort_thread_handler" },
	{ "job_handle_engine_error", "job_done_callback" },
	{ "user_limits_get", "open" },
	{ "user_limits_release", "file_priv_put open" },
	{ "gem_prime_import", "bo_create_from_userptr_ioctl" },
	{ "gem_userptr_dmabuf_map", "bo_pin bo_bind" },
	{ "gem_userptr_dmabuf_unmap", "bo_unbind_locked" },
	{ "gem_userptr_dmabuf_release", "gem_bo_free" },
	{ "mmu_irq_evtq_handler", "hw_ip_irq_handler_40xx hw_ip_irq_handler_37xx" },
	{ "mmu_irq_gerr_handler", "hw_ip_irq_handler_40xx hw_ip_irq_handler_37xx" },
	{ "mmu_get_event", "mmu_irq_evtq_handler mmu_evtq_dump" },
	{ "mmu_dump_event", "mmu_irq_evtq_handler mmu_evtq_dump" },
	{ "pm_reset_complete", "pm_recovery_work pm_reset_done_cb" },
	{ "ms_cleanup_all", "pm_reset_complete pm_recovery_work dev_fini" },
	{ "pm_prepare_cold_boot", "pm_prepare_warm_boot pm_reset_complete pm_recovery_work "
				  "pm_runtime_suspend_cb resume" },
	{ "cmdq_reset_all_contexts", "pm_prepare_cold_boot pm_prepare_warm_boot pm_reset_complete "
				     "pm_runtime_suspend_cb resume" },
	{ "ipc_reset", "pm_prepare_cold_boot ipc_init pm_prepare_warm_boot pm_reset_complete "
		       "pm_runtime_suspend_cb resume" },
	{ "fw_log_reset", "pm_prepare_cold_boot pm_prepare_warm_boot pm_reset_complete "
			  "pm_runtime_suspend_cb resume" },
	{ "fw_load", "pm_prepare_cold_boot fw_init pm_prepare_warm_boot pm_reset_complete "
		     "pm_runtime_suspend_cb resume" },
	{ "jsm_state_dump", "pm_recovery_work job_timeout_work" },
	{ "jsm_state_dump_no_reply", "pm_recovery_work pm_trigger_recovery" },
	{ "ipc_send_and_wait", "jsm_state_dump jsm_state_dump_no_reply" },
	{ "pm_trigger_recovery", "job_timeout_work context_abort_work_fn mmu_irq_gerr_handler "
				 "hw_ip_irq_handler_40xx hw_ip_irq_handler_37xx force_recovery_fn "
				 "hw_btrs_irq_handler_lnl hw_btrs_irq_handler_mtl ipc_send_receive "
				 "jsm_hws_resume_engine jsm_reset_engine mmu_irq_evtq_handler" },
	{ "hw_ip_diagnose_failure", "pm_trigger_recovery wait_for_ready boot mmu_cmdq_sync" },
	{ "hw_btrs_diagnose_failure", "pm_trigger_recovery wait_for_ready boot mmu_cmdq_sync" },
	{ "jsm_get_heartbeat", "get_param_ioctl job_timeout_work" },
	{ "jsm_hws_setup_priority_bands", "boot" },
	{ "pm_dct_init", "boot" },
	{ "pm_dct_enable", "pm_irq_dct_work_fn pm_dct_init pm_dct_irq_thread_handler" },
	{ "pm_dct_disable", "pm_irq_dct_work_fn pm_dct_irq_thread_handler" },
	{ "jsm_dct_enable", "pm_dct_enable" },
	{ "jsm_dct_disable", "pm_dct_disable" },
	{ "hw_btrs_dct_get_request", "pm_irq_dct_work_fn pm_dct_irq_thread_handler" },
	{ "hw_btrs_dct_set_status", "pm_irq_dct_work_fn pm_dct_irq_thread_handler" },
	{ "jsm_metric_streamer_start", "ms_start_ioctl" },
	{ "jsm_metric_streamer_update", "ms_get_data_ioctl" },
	{ "jsm_metric_streamer_info", "ms_get_info_ioctl ms_start_ioctl" },
	{ "jsm_metric_streamer_stop", "ms_stop_ioctl ms_cleanup ms_cleanup_all" },
	/* From the module of Linux 7.2 alone. */
	{ "bo_alloc", "bo_create bo_create_ioctl" },
	{ "bo_create_runtime", "fw_init" },
	{ "bo_list", "bo_list_print" },
	{ "debugfs_init", "probe" },
	{ "dev_fini", "probe remove" },
	{ "fw_check_api", "fw_init" },
	{ "fw_fini", "dev_fini probe" },
	{ "fw_init", "probe" },
	{ "fw_log_print", "dev_coredump" },
	{ "hw_btrs_cfg_freq_init", "boot" },
	{ "hw_btrs_cfg_freq_set", "hw_btrs_cfg_freq_init hw_btrs_cfg_max_freq_set "
				  "hw_btrs_cfg_min_freq_set" },
	{ "hw_btrs_clock_relinquish_disable_lnl", "hw_power_up" },
	{ "hw_btrs_freq_ratios_init", "hw_init" },
	{ "hw_btrs_info_init", "hw_init" },
	{ "hw_btrs_irqs_clear_with_0_mtl", "hw_init" },
	{ "hw_btrs_platform_read", "hw_init" },
	{ "hw_btrs_pll_ratio_to_hz", "get_param_ioctl" },
	{ "hw_btrs_pll_ratio_to_mhz", "hw_btrs_cfg_freq_set hw_btrs_wp_drive" },
	{ "hw_btrs_telemetry_enable_get", "fw_boot_params_setup" },
	{ "hw_btrs_telemetry_offset_get", "fw_boot_params_setup" },
	{ "hw_btrs_telemetry_size_get", "fw_boot_params_setup" },
	{ "hw_init", "probe" },
	{ "hw_ip_wdt_disable", "hw_ip_irq_handler_37xx hw_ip_irq_handler_40xx" },
	{ "hw_range_init", "bo_create_runtime fw_init hw_init" },
	{ "hw_uses_ecc_mca_signal", "fw_boot_params_setup" },
	{ "ipc_fini", "dev_fini probe" },
	{ "ipc_init", "probe" },
	{ "irq_handlers_init", "probe" },
	{ "is_capable", "cmdq_create_ioctl cmdq_destroy_ioctl cmdq_submit_ioctl" },
	{ "is_within_range", "bo_create_runtime" },
	{ "job_done_consumer_fini", "dev_fini" },
	{ "job_done_consumer_init", "probe" },
	{ "jsm_msg_freq_config", "hw_btrs_cfg_freq_set" },
	{ "jsm_msg_type_to_str", "ipc_send_receive_internal jsm_msg_dump" },
	{ "mmu_context_set_pages_ro", "fw_init" },
	{ "mmu_context_split_64k_page", "mmu_context_set_pages_ro" },
	{ "mmu_evtq_dump", "boot" },
	{ "mmu_global_context_fini", "dev_fini probe" },
	{ "mmu_global_context_init", "probe" },
	{ "mmu_init", "probe" },
	{ "mmu_reserved_context_fini", "dev_fini probe" },
	{ "mmu_reserved_context_init", "probe" },
	{ "mmu_strtab_link_cd", "mmu_init" },
	{ "pm_disable", "dev_fini" },
	{ "pm_disable_recovery", "dev_fini" },
	{ "pm_enable", "probe" },
	{ "pm_init", "probe" },
	{ "sysfs_init", "probe" },
	/* From the module of Linux 6.12 alone. */
	{ "cmdq_free", "cmdq_release_all_locked submit_ioctl" },
	{ "hw_btrs_dpu_max_freq_get", "get_param_ioctl" },
	{ "ipc_tx_prepare", "ipc_send ipc_send_and_wait ipc_send_receive_internal" },
	{ "mmu_cd_add", "mmu_clear_pgtable mmu_init mmu_set_pgtable" },
	{ "mmu_clear_pgtable", "mmu_reserved_context_fini mmu_user_context_fini" },
	{ "mmu_set_pgtable", "mmu_user_context_init" },
	{ "mmu_user_context_fini", "dev_fini file_priv_put" },
	{ "mmu_user_context_init", "mmu_reserved_context_init open" },
	{ "mmu_user_context_mark_invalid", "mmu_irq_evtq_handler" },
	{ "pm_dct_irq_thread_handler", "irq_thread_handler" },
};

static const struct call_entry entries[] = {
	{ .function = "open", .lane = CALL_LANE_REQUEST },
	{ .function = "postclose", .lane = CALL_LANE_REQUEST },
	/* Called by DRM when the last reference to a buffer is dropped. */
	{ .function = "gem_bo_free", .lane = CALL_LANE_REQUEST, .may_be_nested = true, .only_directly = true },
	{ .function = "pm_runtime_resume_cb", .lane = CALL_LANE_POWER, .is_boot = true, .context = "[boot]" },
	{ .function = "pm_resume_cb", .lane = CALL_LANE_POWER, .is_boot = true, .context = "[boot]" },
	/* Not every trace contains the outer functions. */
	{ .function = "resume", .lane = CALL_LANE_POWER, .may_be_nested = true, .is_boot = true, .context = "[boot]" },
	{ .function = "boot", .lane = CALL_LANE_POWER, .may_be_nested = true, .is_boot = true, .context = "[boot]" },
	{ .function = "wait_for_ready",
	  .lane = CALL_LANE_POWER,
	  .may_be_nested = true,
	  .is_boot = true,
	  .context = "[boot]" },
	{ .function = "pm_runtime_suspend_cb", .lane = CALL_LANE_POWER },
	{ .function = "pm_suspend_cb", .lane = CALL_LANE_POWER },
	{ .function = "irq_thread_handler", .lane = CALL_LANE_WORK },
	{ .function = "ipc_irq_work_fn", .lane = CALL_LANE_WORK },
	{ .function = "context_abort_work_fn", .lane = CALL_LANE_WORK },
	{ .function = "context_abort_thread_handler", .lane = CALL_LANE_WORK, .may_be_nested = true },
	{ .function = "job_timeout_work", .lane = CALL_LANE_WORK },
	{ .function = "job_destroy_work_fn", .lane = CALL_LANE_WORK },
	{ .function = "pm_irq_dct_work_fn", .lane = CALL_LANE_WORK },
	/* Reads of fdinfo. */
	{ .function = "gem_status", .lane = CALL_LANE_REQUEST },
	{ .function = "pm_recovery_work", .lane = CALL_LANE_WORK },
	{ .function = "hw_irq_handler", .lane = CALL_LANE_INTERRUPT, .context = "[interrupt]" },
	{ .function = "hw_37xx_irq_handler", .lane = CALL_LANE_INTERRUPT, .context = "[interrupt]" },
	{ .function = "hw_40xx_irq_handler", .lane = CALL_LANE_INTERRUPT, .context = "[interrupt]" },
};

/*
 * Other functions that nothing in the driver calls: the PCI core, DRM, fences, sysfs and debugfs call them, through
 * functions that are not traced.
 */
static const char others[] =
	"probe remove pm_reset_prepare_cb pm_reset_done_cb destroy_workqueue gem_prime_handle_to_fd bo_list_print "
	"fence_get_driver_name fence_get_timeline_name force_recovery_fn reset_engine_fn resume_engine_fn "
	"dct_fops_open "
	"reset_engine_fops_open resume_engine_fops_open fw_log_mark_read hw_btrs_cfg_min_freq_set "
	"hw_btrs_cfg_max_freq_set hw_btrs_current_freq_get hw_profiling_freq_drive hw_ip_idle_gen_enable "
	"jsm_dyndbg_control jsm_trace_set_config jsm_trace_get_capability jsm_hws_set_scheduling_log "
	"jsm_preempt_engine";

const char *call_graph_callers(const char *function)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].function, function))
			return table[i].callers;
	return NULL;
}

bool call_graph_allows(const char *callers, const char *caller)
{
	size_t length = strlen(caller);
	while (callers && length) {
		if (!strncmp(callers, caller, length) && (callers[length] == ' ' || !callers[length]))
			return true;
		const char *space = strchr(callers, ' ');
		callers = space ? space + 1 : NULL;
	}
	return false;
}

const struct call_entry *call_entry_find(const char *function)
{
	static const struct call_entry request = { .lane = CALL_LANE_REQUEST };
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!strcmp(entries[i].function, function))
			return &entries[i];
	if (call_graph_allows(others, function))
		return &request;
	/* DRM calls the ioctl handlers. */
	size_t length = strlen(function), ending = strlen("_ioctl");
	return length > ending && !strcmp(function + length - ending, "_ioctl") ? &request : NULL;
}

void call_name_shorten(const char *name, char *buffer, size_t size)
{
	size_t prefix = strlen(PREFIX);
	buffer[0] = '\0';
	if (strncmp(name, PREFIX, prefix) != 0)
		return;
	size_t length = strcspn(name + prefix, ".");
	if (length >= size)
		return;
	memcpy(buffer, name + prefix, length);
	buffer[length] = '\0';
}
