# Everything is installed in build/; nothing outside the checkout changes.
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3.11 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
WANTED = 3.11
VENV := build/venv
OLDEST := build/venv-oldest
NEWEST := build/venv-newest
RELEASE := build/venv-release
# The newest Python that ansible-core 2.21 runs on, of PATH or of pyenv.
NEWEST_PYTHON = $(shell for v in 3.14 3.13 3.12; do \
  for p in python$$v "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$v.*/bin/python$$v; do \
  $$p -c 'import ensurepip' 2>/dev/null && echo $$p && break 2; done; done)
$(NEWEST)/bin/python: PYTHON = $(NEWEST_PYTHON)
$(NEWEST)/bin/python: WANTED = 3.12
COLLECTION := build/collections/ansible_collections/zerocopy/rdma
STEP := tests/step.sh
RECORD := build/lab/record.jsonl

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
# Ansible refuses to start in a locale that is not UTF-8.
export LC_ALL := C.UTF-8
# Nothing installed in build/ is compiled yet: without .pyc files, each of many short processes would compile Ansible
# again, and the client of Kubernetes.
unexport PYTHONDONTWRITEBYTECODE
# Modules on the local connection have the environment of the controller, and unbuffered, Python reads its program from
# standard input a byte at a time. A node's environment has no such variable.
unexport PYTHONUNBUFFERED

.PHONY: help demo test site report format programs control-plane operators network cabling monitoring lab cluster plugins images lab-down \
  same bench-facts bench-prepare bench-fleet bench-cluster bench-inject bench-fabric mutants coverage tarball installed clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/controller $(COLLECTION) ## run site.yml on recorded nodes (no root, no cluster, no VM)
	@$(STEP) 'recorded fleet' python tests/fleet/expand.py --output build/demo/nodes
	@ANSIBLE_CALLBACK_PLUGINS=tests/callbacks ANSIBLE_STDOUT_CALLBACK=shown ANSIBLE_DISPLAY_OK_HOSTS=false \
	  ansible-playbook -i inventory -i tests/fleet/inventory.yml -i tests/fleet/demo.yml \
	  -e rdma_discover_facts_dir=build/demo/facts playbooks/site.yml
	@echo 'ansible-playbook is in $(VENV): run ". $(VENV)/bin/activate" before the next command. On recorded nodes,'
	@echo 'verify finds failures: their links are configured in files only, and some of them have faults.'

test: $(VENV)/dev $(RELEASE)/controller $(COLLECTION) ## run every check that needs no VM; ONLY=<regex> selects some
	@tests/gates.sh '$(ONLY)' '$(BESIDE)'

SITE_TESTS = tests/unit/docsite tests/unit/fleet/test_documents.py tests/unit/_plan/preflight/test_documented_examples.py
site: $(VENV)/dev $(COLLECTION) ## build the documentation as a site in build/site/html, and check its links and examples
	@$(STEP) 'site' python tests/docsite/build.py build/site
	@$(STEP) 'examples of the site' pytest -q $(SITE_TESTS)

report: $(VENV)/dev $(COLLECTION) ## test verify's report in a real browser (needs Debian's chromium-headless-shell)
	@$(STEP) 'report in a browser' python tests/report/browser.py

format: $(VENV)/dev ## format the code and apply ruff's automatic fixes
	@ruff check --quiet --fix . ; ruff format .

# Each worker has a control plane of its own, and waits for it a third of the time.
WORKERS = --numprocesses=$(shell n=$$(( $$(nproc) + 1 )); echo $$(( n < 4 ? n : 4 ))) --dist=worksteal
# With the newest Kubernetes what depends on its API, its allocator and server-side apply. Tests of older versions of the
# API are left out: their API server emulates Kubernetes 1.33, which 1.37 cannot.
NEWEST_KUBERNETES = 1.37.2
# What needs an API that older ones lack; and what makes so many definitions that once is enough.
ONLY_NEWEST = tests/cluster/test_device_taints.py tests/cluster/test_health.py tests/cluster/test_definitions.py
# Restarts the API server fifteen times, for which a busy machine takes minutes: pytest runs it alone, with the newest.
ALONE = tests/cluster/test_device_taints_killed.py
NEWEST_TESTS = tests/cluster/test_claims.py tests/cluster/test_extended_claims.py tests/cluster/test_applyset.py \
  tests/cluster/test_cluster_info.py \
  tests/cluster/test_slice_info.py::test_real_slices_are_returned_and_read \
  tests/cluster/test_control_plane.py::test_the_scheduler_allocates_what_a_pod_claims
# CI builds them beside other checks.
programs: $(VENV)/dev
	@$(STEP) 'control plane' python3 tests/lab/control_plane build
	@$(STEP) 'control plane $(NEWEST_KUBERNETES)' python3 tests/lab/control_plane build --version $(NEWEST_KUBERNETES)
	@[ "$$(id -u)" != 0 ] || $(STEP) "NVIDIA's DRA driver" python3 tests/lab/gpu_driver

control-plane: programs $(COLLECTION) ## test claims and sets of objects on a real API server and scheduler (needs Go)
	@$(STEP) 'cluster tests' tests/once.sh pytest -q $(WORKERS) $(ONLY_NEWEST:%=--ignore=%) $(ALONE:%=--ignore=%) tests/cluster
	@ZEROCOPY_KUBERNETES=$(NEWEST_KUBERNETES) $(STEP) 'cluster tests $(NEWEST_KUBERNETES)' \
	  tests/once.sh pytest -q $(WORKERS) $(NEWEST_TESTS) $(ONLY_NEWEST) -k 'not older'

# Building the operators takes some ten minutes the first time, which is why CI does not run it.
operators: $(VENV)/dev $(COLLECTION) ## test our objects with the real SR-IOV operator and Kueue on that API server (needs Go)
	@$(STEP) 'control plane' python3 tests/lab/control_plane build
	@$(STEP) 'operators' pytest -q tests/operators

network: $(VENV)/dev $(COLLECTION) ## test links with a real NetworkManager in namespaces (needs root, mmdebstrap)
	@$(STEP) 'network manager' pytest -q $(WORKERS) tests/network_manager

cabling: $(VENV)/dev $(COLLECTION) ## test cabling on a fabric of ibsim and with real lldpd in namespaces (needs root, mmdebstrap)
	@$(STEP) 'cabling' pytest -q tests/cabling

monitoring: $(VENV)/dev $(COLLECTION) ## test alerts and dashboards with the real Prometheus and Alertmanager (needs apt-get)
	@$(STEP) 'monitoring' pytest -q tests/monitoring

lab: $(VENV)/dev $(COLLECTION) ## run the playbooks on QEMU guests with real kernels (needs root; see tests/lab)
	@rm -f $(RECORD); ZEROCOPY_LAB_PROGRESS=/proc/$$$$/fd/2 molecule test -s vm || \
	  { [ ! -e $(RECORD) ] || python tests/lab/failed.py $(RECORD); exit 1; }

# Hours on a busy machine the first time, which is why neither `make test` nor CI runs it: select with OPTIONS.
same: $(VENV)/dev $(COLLECTION) ## prove that manifests, files on nodes and objects are those of a commit (needs Go); BASE=, OPTIONS='--part nodes --scenario dra'
	@python tests/same/same.py $(if $(BASE),--base '$(BASE)') $(OPTIONS)

# Half an hour and more in emulated guests, which is why CI does not run it.
cluster: $(VENV)/dev $(COLLECTION) ## test claims and pods on QEMU guests that are nodes of a real cluster (needs root, Go)
	@rm -f build/cluster/record.jsonl; ZEROCOPY_LAB_PROGRESS=/proc/$$$$/fd/2 molecule test -s cluster || \
	  { [ ! -e build/cluster/record.jsonl ] || python tests/lab/failed.py build/cluster/record.jsonl; exit 1; }

plugins: $(VENV)/dev $(COLLECTION) ## test the strategies with device plugins on such nodes (needs root, Go)
	@rm -f build/plugins/record.jsonl; ZEROCOPY_LAB_PROGRESS=/proc/$$$$/fd/2 molecule test -s plugins || \
	  { [ ! -e build/plugins/record.jsonl ] || python tests/lab/failed.py build/plugins/record.jsonl; exit 1; }

# Minutes of downloads and copies of whole images, which is why CI does not run it.
images: tarball ## build the Containerfiles and an Execution Environment without a registry, and test their images (needs root, buildah)
	@python3 tests/lab/containerfiles.py
	@python3 tests/lab/execution_environment.py

lab-down: ## stop guests and clusters that the labs left running
	@python3 tests/lab/lab.py down
	@ZEROCOPY_LAB=zerocopy-cluster python3 tests/lab/cluster down
	@ZEROCOPY_LAB=zerocopy-plugins python3 tests/lab/cluster down

mutants: $(VENV)/dev ## put small bugs into the code and list those that no test notices; ROOM=, SAMPLE=, SEED=
	@nice -n 15 python tests/mutants.py --room '$(ROOM)' --sample '$(or $(SAMPLE),40)' --seed '$(or $(SEED),1)'

coverage: $(VENV)/dev ## show how many of each room's lines the unit tests run; ROOM=
	@nice -n 15 python tests/mutants.py --room '$(ROOM)' --sample 0

bench-facts: $(VENV)/dev $(COLLECTION) ## compare the time of rdma_facts with ping and four common tasks, in a guest (needs root)
	@trap 'molecule destroy -s vm' EXIT; molecule create -s vm && \
	  python tests/bench/facts.py --inventory extensions/molecule/vm/inventory --host node1

bench-prepare: $(VENV)/dev $(COLLECTION) ## compare the time of a second prepare with ping and community modules (needs root)
	@python tests/bench/prepare.py

bench-fleet: $(VENV)/dev $(COLLECTION) ## measure time, CPU and memory of each playbook on 50, 400 and 2,000 recorded nodes in which nothing changes; OPTIONS='--nodes 50'
	@python tests/bench/fleet.py $(OPTIONS)

bench-cluster: $(VENV)/dev $(COLLECTION) ## compare applyset with kubectl and kubernetes.core on a real API server; BASE=<commit> provision with that commit's instead
	@$(if $(BASE),python tests/bench/provision.py --base '$(BASE)' $(OPTIONS),python tests/bench/cluster.py $(OPTIONS))

bench-inject: $(VENV)/dev $(COLLECTION) ## measure the time that inject's NRI plugin adds to CreateContainer, and its memory (needs Go)
	@python tests/bench/inject.py

bench-fabric: $(VENV)/dev $(COLLECTION) ## measure facts, check and page of the cabling of 50 to 400 nodes with 3,200 rails: CPU, memory, growth; OPTIONS=--simulate
	@python tests/bench/fabric.py $(OPTIONS)

clean: lab-down ## remove everything that was built
	python3 tests/lab/control_plane down --all
	rm -rf build

tarball: $(VENV)/dev ## build the collection, with a README for each role, in build/tarball
	@$(STEP) 'collection build' tests/tarball.sh build/tarball

.PHONY: release compatibility
release: $(VENV)/dev $(RELEASE)/controller $(COLLECTION) ## make tarball, notes, SBOM and site of a release in build/release; REPOSITORY=https://..., VERSION=1.0.0
	@PYTHONPATH=build/collections python -m ansible_collections.zerocopy.rdma.tests.release \
	  --repository '$(REPOSITORY)' --version '$(VERSION)' \
	  --documentation '$(DOCUMENTATION)' --homepage '$(HOMEPAGE)' --issues '$(ISSUES)'

# Half an hour for all five, which is why CI, whose minutes are few, runs the tests of one.
compatibility: $(VENV)/dev $(COLLECTION) ## run ansible-test with each supported ansible-core; CORE=2.20 selects (needs Python 3.11 to 3.13)
	@tests/compatibility.sh $(CORE)

# Without a Python for the newest ansible-core the oldest is tried alone, but not in CI.
INSTALLED = $(OLDEST) $(if $(NEWEST_PYTHON)$(CI),$(NEWEST))
installed: tarball $(addsuffix /controller,$(INSTALLED)) ## follow the README's steps with the built collection, on the oldest and newest ansible-core
	@rm -rf build/installed
	@tests/installed.sh build/tarball/*.tar.gz $(INSTALLED)
	@[ '$(words $(INSTALLED))' = 2 ] || echo 'Not tested with the newest ansible-core: it needs Python 3.12, not installed here.'

$(COLLECTION):
	@mkdir -p $(@D) && ln -s ../../../.. $@

%/bin/python:
	@[ -n '$(PYTHON)' ] || { echo 'Python $(WANTED) or newer is needed for $* (apt install python3, or pyenv).'; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { echo 'Python cannot make virtual environments (Debian: apt install python3-venv).'; exit 1; }
	@$(STEP) 'virtual environment' $(PYTHON) -m venv --clear $*

# Compiling the 30,000 files of the package `ansible` takes longer than downloading them, and few are used.
PIP = -m pip install --no-compile --disable-pip-version-check
$(VENV)/controller: requirements-pinned.txt | $(VENV)/bin/python
	@$(STEP) 'ansible' python $(PIP) -r $<
	@touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/controller
	@$(STEP) 'test tools' python $(PIP) -r $<
	@touch $@

$(OLDEST)/controller $(NEWEST)/controller $(RELEASE)/controller: build/venv-%/controller: requirements-%.txt | build/venv-%/bin/python
	@$(STEP) '$* environment' build/venv-$*/bin/python $(PIP) -r $<
	@touch $@
