# SPDX-License-Identifier: Apache-2.0
"""Rows of the sink csv while it writes them."""
import csv
import os
import threading


def follow(path, take):
    """Makes a FIFO, which is to be the output of a sink csv, and calls take(row) for each row. -> the thread that does so"""
    os.mkfifo(path)

    def read():
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                take(row)
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread
