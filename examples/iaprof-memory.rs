// SPDX-License-Identifier: Apache-2.0
//! A source in Rust: sends the available memory as a counter. The structs mirror those of iaprof/plugin.h, host.h and
//! record.h as far as this source uses them: within a version of the interface, members are only appended.
use std::ffi::c_void;
use std::os::raw::{c_char, c_int};
use std::ptr::null;

const EIO: c_int = 5;
const ABI_VERSION: u32 = 4;
const SCHEMA_VERSION: u32 = 1;
const KIND_SOURCE: u32 = 1;
const FLAG_ONLY_BY_NAME: u32 = 1 << 4;
const RECORD_COUNTER: u16 = 17;
const RECORD_COUNTER_VALUE: u16 = 18;
const COUNTER_GAUGE: u32 = 1;
const COUNTER_MEMORY: u32 = 1;
const PERIOD: u64 = 100_000_000; // ns

type TimerCallback = extern "C" fn(host: *const Host, instance: *mut c_void, expirations: u64) -> c_int;

/// struct iaprof_host, up to on_timer.
#[repr(C)]
struct Host {
    size: u32,
    pad: u32,
    instance_name: *const c_char,
    core: *const c_void,
    clock: unsafe extern "C" fn(*const Host) -> u64,
    log: unsafe extern "C" fn(*const Host, c_int, *const c_char, ...),
    fail: unsafe extern "C" fn(*const Host, c_int, *const c_char, ...) -> c_int,
    request_to_delivery: [*const c_void; 12],
    emit: unsafe extern "C" fn(*const Host, *const Batch) -> c_int,
    advance: *const c_void,
    intern_string: unsafe extern "C" fn(*const Host, *const u8, usize) -> u32,
    intern_stack_to_metadata: [*const c_void; 5],
    on_fd: *const c_void,
    remove_fd: *const c_void,
    on_timer: unsafe extern "C" fn(*const Host, u64, TimerCallback) -> c_int,
}

#[repr(C)]
struct Batch {
    records: *const c_void,
    size: u64,
    count: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct Header {
    size: u32,
    kind: u16,
    source: u16,
    time: u64,
}

#[repr(C)]
#[derive(Default)]
struct Counter {
    header: Header,
    id: u32,
    name: u32,
    unit: u32,
    kind: u32,
    device: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct CounterValue {
    header: Header,
    counter: u32,
    pad: u32,
    value: f64,
}

type Callback = extern "C" fn(*const Host, *mut c_void) -> c_int;

/// struct iaprof_source_operations, up to its mandatory members.
#[repr(C)]
struct Operations {
    size: u32,
    pad: u32,
    start: Option<Callback>,
    stop: Option<Callback>,
}

/// struct iaprof_plugin.
#[repr(C)]
struct Plugin {
    abi_version: u32,
    size: u32,
    schema_version: u32,
    kind: u32,
    flags: u32,
    option_size: u32,
    name: *const u8,
    version: *const u8,
    description: *const u8,
    options: *const c_void,
    option_count: usize,
    instance_size: usize,
    source: *const Operations,
    sink: *const c_void,
    decoder: *const c_void,
    configure: Option<Callback>,
    destroy: *const c_void,
}
// iaprof calls a source on one thread, and the struct is constant.
unsafe impl Sync for Plugin {}

/// Fills the header of a record, which is its first member, and sends it.
unsafe fn send<Record>(host: *const Host, record: &mut Record, kind: u16) -> c_int {
    let size = std::mem::size_of::<Record>();
    let header = record as *mut Record as *mut Header;
    *header = Header { size: size as u32, kind, source: 0, time: ((*host).clock)(host) };
    let batch = Batch { records: record as *const Record as *const c_void, size: size as u64, count: 1, pad: 0 };
    ((*host).emit)(host, &batch)
}

/// Bytes of available memory, from /proc/meminfo.
fn available_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

extern "C" fn timer_expired(host: *const Host, _instance: *mut c_void, _expirations: u64) -> c_int {
    unsafe {
        match available_memory() {
            Some(value) => {
                let mut record = CounterValue { counter: COUNTER_MEMORY, value, ..Default::default() };
                send(host, &mut record, RECORD_COUNTER_VALUE)
            }
            None => ((*host).fail)(host, EIO, b"/proc/meminfo has no MemAvailable\0".as_ptr() as *const c_char),
        }
    }
}

extern "C" fn start(host: *const Host, _instance: *mut c_void) -> c_int {
    unsafe {
        let intern = |text: &str| ((*host).intern_string)(host, text.as_ptr(), text.len());
        let mut counter = Counter {
            id: COUNTER_MEMORY,
            name: intern("available memory"),
            unit: intern("bytes"),
            kind: COUNTER_GAUGE,
            ..Default::default()
        };
        match send(host, &mut counter, RECORD_COUNTER) {
            0 => ((*host).on_timer)(host, PERIOD, timer_expired),
            result => result,
        }
    }
}

extern "C" fn stop(_host: *const Host, _instance: *mut c_void) -> c_int {
    0
}

static OPERATIONS: Operations = Operations {
    size: std::mem::size_of::<Operations>() as u32,
    pad: 0,
    start: Some(start),
    stop: Some(stop),
};

static PLUGIN: Plugin = Plugin {
    abi_version: ABI_VERSION,
    size: std::mem::size_of::<Plugin>() as u32,
    schema_version: SCHEMA_VERSION,
    kind: KIND_SOURCE,
    flags: FLAG_ONLY_BY_NAME,
    option_size: 0,
    name: b"memory\0".as_ptr(),
    version: b"1.0\0".as_ptr(),
    description: b"Available memory, as a counter\0".as_ptr(),
    options: null(),
    option_count: 0,
    instance_size: 1, // there is no state
    source: &OPERATIONS,
    sink: null(),
    decoder: null(),
    configure: None,
    destroy: null(),
};

#[no_mangle]
pub extern "C" fn iaprof_plugin_register() -> *const c_void {
    &PLUGIN as *const Plugin as *const c_void
}
