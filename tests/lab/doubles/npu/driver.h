/* SPDX-License-Identifier: GPL-2.0-only */
/* Binding to the device. */
#pragma once

#include "device.h"

int ivpu_probe(struct pci_dev *pdev, const struct pci_device_id *id);
void ivpu_remove(struct pci_dev *pdev);
int double_probe(struct pci_dev *pdev);
void double_remove(struct pci_dev *pdev);
int double_tracepoints_remove(void);
bool double_is_device(const struct ivpu_device *vdev);
