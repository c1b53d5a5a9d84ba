# SPDX-License-Identifier: Apache-2.0
"""AI flame graphs held against what is known of every row: code, launches and rows have a truth each, and a judge."""
