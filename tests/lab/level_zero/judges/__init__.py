# SPDX-License-Identifier: Apache-2.0
"""Independent tools that know what is in a GPU's ELF file, asked for each instruction and held against each other."""
