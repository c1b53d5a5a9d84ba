// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel calls beside ioctls: open, close, free, power management, interrupt, thread and works. */
#include <linux/interrupt.h>
#include "driver.h"
#include "play.h"

#define EDU_STATUS 0x24
#define EDU_ACKNOWLEDGE 0x64

noinline int ivpu_open(struct drm_device *dev, struct drm_file *file)
{
	struct double_player player;
	struct double_frame frame;
	int ret;

	double_begin(&player, &frame, FUNCTION_ivpu_open, to_ivpu_device(dev));
	ret = double_context_create(to_ivpu_device(dev), file);
	if (!ret) {
		double_choose(&frame, TRIGGER_OPEN);
		DOUBLE_CALLS(&frame);
	}
	double_end(&player, &frame);
	return ret;
}

noinline void ivpu_postclose(struct drm_device *dev, struct drm_file *file)
{
	struct double_player player;
	struct double_frame frame;

	double_begin(&player, &frame, FUNCTION_ivpu_postclose, to_ivpu_device(dev));
	double_choose(&frame, TRIGGER_CLOSE);
	DOUBLE_CALLS(&frame);
	double_end(&player, &frame);
	double_context_put(file->driver_priv);
}

/* A tree may call it too, for a buffer of the driver's own: then `object` is the device, and there is no buffer. */
noinline void ivpu_gem_bo_free(struct drm_gem_object *object)
{
	struct ivpu_device *nested_vdev = (struct ivpu_device *)object;
	struct double_player player;
	struct double_frame frame;

	if (double_is_device(nested_vdev)) {
		if (double_enter(&frame, FUNCTION_ivpu_gem_bo_free, nested_vdev))
			DOUBLE_CALLS(&frame);
		double_leave(&frame);
		return;
	}
	double_begin(&player, &frame, FUNCTION_ivpu_gem_bo_free, to_ivpu_device(object->dev));
	double_choose(&frame, TRIGGER_FREE);
	DOUBLE_CALLS(&frame);
	double_buffer_free(to_ivpu_bo(object));
	double_end(&player, &frame);
}

noinline int ivpu_pm_runtime_resume_cb(struct device *dev)
{
	struct ivpu_device *vdev = dev_get_drvdata(dev);
	struct double_player player;
	struct double_frame frame;

	double_begin(&player, &frame, FUNCTION_ivpu_pm_runtime_resume_cb, vdev);
	double_count(vdev, COUNT_RESUMES, 1);
	double_choose(&frame, TRIGGER_RESUME);
	DOUBLE_CALLS(&frame);
	double_end(&player, &frame);
	return 0;
}

noinline int ivpu_pm_runtime_suspend_cb(struct device *dev)
{
	struct ivpu_device *vdev = dev_get_drvdata(dev);
	struct double_player player;
	struct double_frame frame;

	double_begin(&player, &frame, FUNCTION_ivpu_pm_runtime_suspend_cb, vdev);
	double_count(vdev, COUNT_SUSPENDS, 1);
	double_choose(&frame, TRIGGER_SUSPEND);
	DOUBLE_CALLS(&frame);
	double_end(&player, &frame);
	return 0;
}

noinline irqreturn_t ivpu_hw_irq_handler(int irq, void *ptr)
{
	struct ivpu_device *vdev = ptr;
	struct double_occurrence *occurrence;
	struct double_player player;
	struct double_frame frame;
	u32 status = readl(vdev->registers + EDU_STATUS);

	if (!status)
		return IRQ_NONE;
	writel(status, vdev->registers + EDU_ACKNOWLEDGE);
	double_begin(&player, &frame, FUNCTION_ivpu_hw_irq_handler, vdev);
	double_count(vdev, COUNT_INTERRUPTS, 1);
	occurrence = double_event_next_interrupt(vdev);
	if (occurrence) {
		double_choose_event(&frame, occurrence, occurrence->event->hard);
		DOUBLE_CALLS(&frame);
	}
	double_end(&player, &frame);
	if (occurrence && occurrence->event->thread != DOUBLE_NONE) {
		vdev->in_thread = occurrence;
		return IRQ_WAKE_THREAD;
	}
	double_event_done_interrupt(vdev);
	if (occurrence && occurrence->event->work != DOUBLE_NONE)
		double_event_queue_work(vdev, occurrence);
	else if (occurrence)
		double_event_finish(vdev, occurrence);
	return IRQ_HANDLED;
}

#define W(name)                                                                                                        \
	noinline void name(struct work_struct *work)                                                                   \
	{                                                                                                              \
		struct double_work *own = container_of(work, struct double_work, work);                                \
		struct double_occurrence *occurrence = double_event_next_work(own);                                    \
		struct double_player player;                                                                           \
		struct double_frame frame;                                                                             \
                                                                                                                       \
		double_begin(&player, &frame, FUNCTION_##name, own->vdev);                                             \
		if (FUNCTION_##name == FUNCTION_ivpu_pm_recovery_work)                                                 \
			atomic_inc(&own->vdev->reset_counter);                                                         \
		if (occurrence) {                                                                                      \
			double_choose_event(&frame, occurrence, occurrence->event->work);                              \
			DOUBLE_CALLS(&frame);                                                                          \
		}                                                                                                      \
		double_end(&player, &frame);                                                                           \
		if (occurrence)                                                                                        \
			double_event_finish(own->vdev, occurrence);                                                    \
	}
DOUBLE_WORKS(W)
#undef W

int ivpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return double_probe(pdev);
}

void ivpu_remove(struct pci_dev *pdev)
{
	double_remove(pdev);
}
