# ---
# jupyter:
#   invariance:
#     reads: [raj2017/quantum_machine, raj2017/rotated_mnist, raj2017/cifar10]
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tables 1 to 3 in the paper's layout
#
# *Raj, Kumar, Mroueh, Fletcher and Schölkopf (2017).*
#
# Each cell has the paper's number and ours with its standard error, from the published results of
# `raj2017/quantum_machine`, `raj2017/rotated_mnist` and `raj2017/cifar10`. A sign marks whether our interval is
# inside the ledger's margin (✓), our mean alone (≈), or neither (✗). The last column has what another
# setting gives. The paper's only figure is on the page `raj2017/kernel_approximation`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full

# %%
from invariance.companion import Run

run = Run("raj2017/tables_and_figures", profile=profile)

# %% [markdown]
# ## Table 1: QM7

# %%
run.paper_table("raj2017/table1")

# %% [markdown]
# ## Table 2: rotated MNIST

# %%
run.paper_table("raj2017/table2")

# %% [markdown]
# ## Table 3: CIFAR-10

# %%
run.paper_table("raj2017/table3")

# %% [markdown]
# ## Try it
#
# `invariance claim raj2017/table1-lgika-rf` prints the margin and the reason for the verdict on a row.
