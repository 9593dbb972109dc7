#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: what this kernel is, and what wtrack(1) finds in it.
export PATH=/bin
uname -r
status=0
/wtrack probe --json || status=$?
# How well writes are tracked is not the question.
[ $status -le 2 ]
