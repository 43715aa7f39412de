//! `timing sweep --slurm` on a real Slurm: munged, slurmctld and slurmd of this machine, started for the test, and for
//! accounting slurmdbd with a MariaDB. The daemons come from Debian's packages slurmctld, slurmd, slurm-client, munge,
//! slurmdbd, mariadb-server-core and mariadb-client-core, and need root.

mod common;

use common::{Item, Launch, text};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use test_kit::{Tool, Watchdog, end_of, skipped};

const TIMING: &str = env!("CARGO_BIN_EXE_timing");
const RUNS: usize = 500;

/// One cluster at a time: with two on one computer, a sweep that went on did not find its jobs in the queue. Which of their
/// daemons is the cause was not found.
static ONE_CLUSTER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A cluster of one node, which ends with the test.
struct Cluster {
    folder: PathBuf,
    controller: Child,
    node: Child,
    /// What accounting needs: the database and its daemon.
    accounting: Vec<Child>,
}

impl Cluster {
    /// Starts the daemons; none if they are not installed or may not run.
    fn start(folder: &Path) -> Option<Cluster> {
        Cluster::available(&[]).then(|| Cluster::begin(folder, false))
    }

    /// The same with accounting in a database.
    fn start_with_accounting(folder: &Path) -> Option<Cluster> {
        let programs =
            ["slurmdbd", "mariadbd", "mariadb-install-db", "my_print_defaults", "sacctmgr", "sacct"];
        Cluster::available(&programs).then(|| Cluster::begin(folder, true))
    }

    fn available(more: &[&str]) -> bool {
        let found = |program: &&str| {
            let find = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            find.is_ok_and(|output| output.status.success())
        };
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        root && ["munged", "slurmctld", "slurmd", "sbatch", "squeue"].iter().chain(more).all(found)
    }

    fn begin(folder: &Path, accounted: bool) -> Cluster {
        for name in ["state", "spool", "log"] {
            std::fs::create_dir_all(folder.join(name)).expect("made");
        }
        let munged = Command::new("munged").args(munge_options(folder)).output().expect("munged starts");
        assert!(munged.status.success(), "munged: {}", text(&munged));
        configure(folder);
        let accounting = if accounted { account(folder) } else { Vec::new() };
        let controller = daemon(folder, "slurmctld", &["-D"]);
        let node = daemon(folder, "slurmd", &["-D", "-N", "node"]);
        let cluster = Cluster { folder: folder.to_owned(), controller, node, accounting };
        until("the node is idle", || text(&cluster.slurm("sinfo", &["-h", "-o", "%t"])).contains("idle"));
        cluster
    }

    /// Runs a command of Slurm, or this project's, on the cluster.
    fn slurm(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.folder.join("slurm.conf"));
        command.output().unwrap_or_else(|why| panic!("{program}: {why}"))
    }

    /// Kills the node's daemon and its jobs. The controller learns of it when the daemon starts again: until then the jobs
    /// count as running, and no other starts.
    fn kill_node(&mut self) {
        self.node.kill().expect("killed");
        self.node.wait().expect("ended");
        let conf = self.folder.join("slurm.conf").display().to_string();
        for process in std::fs::read_dir("/proc").expect("processes").flatten() {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            let is_job = environment.contains("SLURM_JOB_ID=") && environment.contains(&conf);
            if is_job {
                Command::new("kill").arg("-9").arg(process.file_name()).output().expect("kill starts");
            }
        }
    }

    fn restart_node(&mut self) {
        self.node = daemon(&self.folder, "slurmd", &["-D", "-N", "node"]);
    }
}

/// Collects what a process writes to its standard error, while it runs.
struct Messages {
    so_far: Arc<Mutex<String>>,
    reader: std::thread::JoinHandle<()>,
}

impl Messages {
    fn of(process: &mut Child) -> Messages {
        let from = BufReader::new(process.stderr.take().expect("its messages"));
        let so_far = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&so_far);
        let reader = std::thread::spawn(move || {
            for line in from.lines() {
                *into.lock().expect("no panic") += &(line.expect("text") + "\n");
            }
        });
        Messages { so_far, reader }
    }

    fn contain(&self, words: &str) -> bool {
        self.so_far.lock().expect("no panic").contains(words)
    }

    /// All of them, once the process has ended.
    fn all(self) -> String {
        self.reader.join().expect("read");
        let all = self.so_far.lock().expect("no panic");
        all.clone()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let accounting = self.accounting.iter_mut().rev();
        for child in [&mut self.node, &mut self.controller].into_iter().chain(accounting) {
            // The test has its own result.
            let _ = child.kill();
            let _ = child.wait();
        }
        let pid = std::fs::read_to_string(self.folder.join("munged.pid")).unwrap_or_default();
        let _ = Command::new("kill").arg(pid.trim()).output();
    }
}

/// Waits until something holds; a watchdog ends the test if it never does.
fn until(what: &str, holds: impl Fn() -> bool) {
    let _watchdog = Watchdog::over(what);
    while !holds() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Starts a database and slurmdbd, and has the configuration of the cluster name it.
fn account(folder: &Path) -> Vec<Child> {
    let (database_port, port) = (free_port(), free_port());
    let at = folder.display();
    let data = folder.join("database");
    let mut install = Command::new("mariadb-install-db");
    install.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    let made = install.args(["--user=root", "--skip-test-db"]).output().expect("starts");
    assert!(made.status.success(), "mariadb-install-db: {}", text(&made));
    let first = "CREATE USER 'slurm'@'%' IDENTIFIED BY 'slurm';\nGRANT ALL ON *.* TO 'slurm'@'%';\n";
    std::fs::write(folder.join("first.sql"), first).expect("written");
    let database = daemon(
        folder,
        "mariadbd",
        &[
            "--no-defaults",
            "--user=root",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            &format!("--datadir={}", data.display()),
            &format!("--socket={at}/database.sock"),
            &format!("--port={database_port}"),
            &format!("--init-file={at}/first.sql"),
        ],
    );
    let connects = |port| TcpStream::connect(("127.0.0.1", port)).is_ok();
    until("the database answers", || connects(database_port));
    let host = host();
    let configuration = format!(
        "AuthType=auth/munge\nAuthInfo=socket={at}/munge.sock\nDbdHost={host}\nDbdAddr=127.0.0.1\nDbdPort={port}\n\
         SlurmUser=root\nPidFile={at}/slurmdbd.pid\nLogFile={at}/log/slurmdbd\n\
         StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort={database_port}\n\
         StorageUser=slurm\nStoragePass=slurm\nStorageLoc=accounts\n"
    );
    let file = folder.join("slurmdbd.conf");
    std::fs::write(&file, configuration).expect("written");
    // slurmdbd refuses a file that others may read.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    let accounts = format!(
        "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n\
         AccountingStoragePort={port}\nAccountingStoragePass={at}/munge.sock\nJobAcctGatherType=jobacct_gather/none\n"
    );
    let mut slurm = std::fs::OpenOptions::new().append(true).open(folder.join("slurm.conf")).expect("opened");
    slurm.write_all(accounts.as_bytes()).expect("written");
    let slurmdbd = daemon(folder, "slurmdbd", &["-D"]);
    until("slurmdbd answers", || connects(port));
    let mut add = Command::new("sacctmgr");
    add.args(["--immediate", "add", "cluster", "test"]).env("SLURM_CONF", folder.join("slurm.conf"));
    let added = add.output().expect("sacctmgr starts");
    assert!(added.status.success(), "sacctmgr: {}", text(&added));
    vec![database, slurmdbd]
}

fn munge_options(folder: &Path) -> Vec<String> {
    let key = folder.join("munge.key");
    std::fs::write(&key, [7; 1024]).expect("written");
    Command::new("chmod").arg("600").arg(&key).output().expect("chmod starts");
    let option = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
    vec![
        option("key-file", "munge.key"),
        option("socket", "munge.sock"),
        option("pid-file", "munged.pid"),
        option("log-file", "log/munged"),
        option("seed-file", "munge.seed"),
        "--force".into(),
    ]
}

fn daemon(folder: &Path, program: &str, arguments: &[&str]) -> Child {
    let log = std::fs::File::create(folder.join("log").join(format!("{program}.out"))).expect("a log");
    let mut command = Command::new(program);
    command.args(arguments).env("SLURM_CONF", folder.join("slurm.conf"));
    command.stdout(log.try_clone().expect("a log")).stderr(log);
    command.spawn().unwrap_or_else(|why| panic!("{program}: {why}"))
}

fn host() -> String {
    let host = Command::new("hostname").arg("-s").output().expect("hostname starts").stdout;
    String::from_utf8_lossy(&host).trim().to_owned()
}

/// A cluster of one node with more cores than the machine has, so that jobs run side by side.
fn configure(folder: &Path) {
    let (controller, node, host) = (free_port(), free_port(), host());
    let at = folder.display();
    let configuration = format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={at}/munge.sock\nCredType=cred/munge\n\
         SlurmctldPort={controller}\nSlurmdPort={node}\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool\n\
         SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd.pid\n\
         SlurmctldLogFile={at}/log/slurmctld\nSlurmdLogFile={at}/log/slurmd\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nReturnToService=2\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n\
         SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1\n\
         NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=500\n\
         PartitionName=main Nodes=node Default=YES State=UP\n"
    );
    std::fs::write(folder.join("slurm.conf"), configuration).expect("written");
    let cgroup = format!("CgroupPlugin=cgroup/v1\nCgroupMountpoint={at}/cgroup\n");
    std::fs::write(folder.join("cgroup.conf"), cgroup).expect("written");
}

/// A small trace at 500 points.
fn sweep(folder: &Path, more: &[&str]) -> Vec<String> {
    let trace = folder.join("a.wtrace").display().to_string();
    let base = [
        "sweep",
        &trace,
        "--config",
        "gtx480",
        "--vary",
        "l2.latency_cycles=101..600",
        "--metrics",
        "^cycles$",
    ];
    base.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn results(out: &Path) -> usize {
    let entries = std::fs::read_dir(out.join("runs")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count()
}

/// 500 runs through a killed node, a cancelled array and a full disk: nothing is lost and nothing is there twice.
#[test]
fn nothing_is_lost_on_a_cluster_that_fails() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let Some(mut cluster) = Cluster::start(&at.join("slurm")) else {
        return skipped(Tool::Slurm, "no slurmctld, slurmd and munged, or no root to run them");
    };
    let launch = Item::Launch(Launch { kernel: 0, stream: 0, blocks: 2, threads: 32 });
    common::record(&at.join("a.wtrace"), &[common::mixed("mixed")], &[launch]);
    // What it has to be: the same sweep on this machine.
    let whole = at.join("whole").display().to_string();
    let here = Command::new(TIMING).args(sweep(at, &["-o", &whole])).output().expect("timing starts");
    assert!(here.status.success(), "{}", text(&here));
    assert_eq!(results(&at.join("whole")), RUNS);

    let disk = at.join("disk");
    std::fs::create_dir(&disk).expect("made");
    let mount = |options: &str| {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&disk).output();
        mount.is_ok_and(|output| output.status.success())
    };
    let mounted = mount("size=4m");
    let out = disk.join("out");
    let shown = out.display().to_string();
    let slurm = "partition=main,runs_per_job=10,poll_seconds=1,retries=2";
    let arguments = sweep(at, &["-o", &shown, "--slurm", slurm]);
    let begin = || {
        let mut command = Command::new(TIMING);
        command
            .args(&arguments)
            .env("SLURM_CONF", cluster_conf(at))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().expect("timing starts")
    };

    // The node dies while jobs run, and the tracking program as well; its successor tracks the same jobs.
    let mut first = begin();
    until("the first results", || results(&out) > 20);
    cluster.kill_node();
    first.kill().expect("killed");
    first.wait().expect("ended");
    let mut second = begin();
    let said = Messages::of(&mut second);
    until("the jobs are tracked on", || said.contain("is in the queue already"));
    let before = results(&out);
    cluster.restart_node();
    until("results after the node's death", || results(&out) > before + 20);
    // A user cancels what is left: that is not submitted again behind the user's back.
    cluster.slurm("scancel", &["--user=root"]);
    let end = end_of(&mut second, "the cancelled sweep");
    let said = said.all();
    assert_eq!(end.code(), Some(1), "{said}");
    assert!(said.contains("CANCELLED") && results(&out) < RUNS, "{said}");

    // The same command goes on until the disk is full, which it is before all results are on it.
    if mounted {
        let full = Command::new(TIMING).args(&arguments).env("SLURM_CONF", cluster_conf(at)).output();
        let full = full.expect("timing starts");
        assert_eq!(full.status.code(), Some(1));
        assert!(text(&full).contains("No space left"), "{}", text(&full));
        assert!(mount("remount,size=64m"), "more room");
    }
    let last = Command::new(TIMING).args(&arguments).env("SLURM_CONF", cluster_conf(at)).output();
    let last = last.expect("timing starts");
    let table = std::fs::read_to_string(out.join("sweep.csv"));
    let found = results(&out);
    let queue = text(&cluster.slurm("squeue", &["--noheader"]));
    if mounted {
        Command::new("umount").arg(&disk).output().expect("umount starts");
    }
    assert!(last.status.success(), "{}", text(&last));
    assert_eq!((found, queue.as_str()), (RUNS, ""));
    assert!(table.expect("a table") == std::fs::read_to_string(at.join("whole/sweep.csv")).expect("a table"));
}

fn cluster_conf(at: &Path) -> PathBuf {
    at.join("slurm/slurm.conf")
}

/// Where the controller no longer knows how jobs ended, accounting does.
#[test]
fn accounting_says_how_jobs_ended() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let Some(cluster) = Cluster::start_with_accounting(&at.join("slurm")) else {
        return skipped(Tool::Slurmdbd, "no slurmdbd and mariadbd beside Slurm, or no root to run them");
    };
    let launch = Item::Launch(Launch { kernel: 0, stream: 0, blocks: 2, threads: 32 });
    common::record(&at.join("a.wtrace"), &[common::mixed("mixed")], &[launch]);
    // A controller that has forgotten every job.
    let forgetful = at.join("bin");
    std::fs::create_dir(&forgetful).expect("made");
    let scontrol = forgetful.join("scontrol");
    std::fs::write(
        &scontrol,
        "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n",
    )
    .expect("written");
    std::fs::set_permissions(&scontrol, std::fs::Permissions::from_mode(0o755)).expect("set");
    let path = format!("{}:{}", forgetful.display(), std::env::var("PATH").unwrap_or_default());
    let out = at.join("out");
    let shown = out.display().to_string();
    let slurm = "partition=main,runs_per_job=10,poll_seconds=1,retries=2";
    let mut command = Command::new(TIMING);
    command.args(sweep(at, &["-o", &shown, "--slurm", slurm]));
    command.env("SLURM_CONF", cluster_conf(at)).env("PATH", path);
    let mut cancelled = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("timing starts");
    until("the first results", || results(&out) > 20);
    cluster.slurm("scancel", &["--user=root"]);
    let end = end_of(&mut cancelled, "the cancelled sweep");
    let said = std::io::read_to_string(cancelled.stderr.take().expect("its messages")).expect("text");
    assert_eq!(end.code(), Some(1), "{said}");
    assert!(said.contains("CANCELLED") && results(&out) < RUNS, "{said}");
    let last = command.output().expect("timing starts");
    assert!(last.status.success(), "{}", text(&last));
    assert_eq!(results(&out), RUNS);
    let accounts =
        text(&cluster.slurm("sacct", &["--noheader", "--parsable2", "--allocations", "--format=State"]));
    assert!(accounts.contains("COMPLETED") && accounts.contains("CANCELLED"), "{accounts}");
}
