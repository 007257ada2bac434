//! The plugin as another runtime's host sees it: functions, numbers, bytes.

use rebalance_guard_tests::plugin::bytes;
use wasmtime::{Engine, Instance, Memory, Module, Store, Val};

/// An instance without any host code of ours around it.
pub(crate) struct Raw {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Raw {
    pub(crate) fn new() -> Self {
        let engine = Engine::default();
        let module = Module::from_binary(&engine, bytes()).expect("it compiles");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("it needs no import");
        let memory = instance.get_memory(&mut store, "memory").expect("it exports its memory");
        Self { store, instance, memory }
    }

    /// Calls an export with numbers of whatever width it has; its result, widened.
    pub(crate) fn call(&mut self, name: &str, numbers: &[i64]) -> i64 {
        let function = self.instance.get_func(&mut self.store, name).expect("it exists");
        let params: Vec<_> = function.ty(&self.store).params().collect();
        assert_eq!(params.len(), numbers.len(), "{name}");
        let params: Vec<_> = params
            .iter()
            .zip(numbers)
            .map(|(kind, number)| match kind.is_i32() {
                true => Val::I32(i32::try_from(*number).expect("it fits")),
                false => Val::I64(*number),
            })
            .collect();
        let mut results = [Val::I32(0)];
        function
            .call(&mut self.store, &params, &mut results)
            .unwrap_or_else(|error| panic!("{name}{numbers:?} trapped: {error:?}"));
        match results {
            [Val::I32(number)] => i64::from(number),
            [Val::I64(number)] => number,
            other => panic!("{name} gave {other:?}"),
        }
    }

    fn at(&mut self) -> usize {
        usize::try_from(self.call("rg_buffer_offset", &[])).expect("an address")
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let at = self.at();
        self.memory.write(&mut self.store, at, bytes).expect("the buffer is in the memory");
    }

    pub(crate) fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let at = self.at();
        self.memory.read(&self.store, at, &mut bytes).expect("the buffer is in the memory");
        bytes
    }

    /// Everything that the guard remembers: the memory without the stack, the exchange buffer and
    /// the room behind it in which lists take shape.
    pub(crate) fn state(&mut self) -> Vec<u8> {
        const STACK: usize = 32_768;
        let at = self.at();
        let len = usize::try_from(self.call("rg_buffer_len", &[])).expect("a length");
        let lists = len / 24 * 32 + 8;
        let mut bytes = self.memory.data(&self.store).to_vec();
        bytes[..STACK].fill(0);
        bytes[at..at + len + lists].fill(0);
        bytes
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.data_size(&self.store)
    }
}

/// The settings of the worked example.
pub(crate) fn settings() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [2_u32, 0, 4, 8, 16, 8, 1_000, 0] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [5_u16, 3, 5, 1] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([20, 0, 0, 0, 0, 0, 0, 0]);
    for number in [100_u64, 10_000, 270_000, 0, 5_000, 200, 60_000, 77, 0, 0, 0, 60_000, 0] {
        bytes.extend(number.to_le_bytes());
    }
    // No journal, which tells of refusals, and no metadata.
    bytes.extend([0; 8]);
    bytes
}
