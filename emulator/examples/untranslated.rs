//! Lists the instructions of cubins that have no translation, by their form, with how often each occurs and an example:
//! `cargo run --release -p warplab-emulator --example untranslated -- *.cubin`.

mod cubins;

use emulator::native::translate::{Section, translate};
use std::collections::BTreeMap;

fn main() {
    let mut forms: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let (mut all, mut kernels, mut whole) = (0, 0, 0);
    cubins::each_function(|_, cubin, function| {
        let branches = cubin.kernel_info(function).map(|info| info.indirect_branches).unwrap_or_default();
        let code = translate(&[Section::of(function, branches)], &[], "");
        all += code.length;
        kernels += 1;
        whole += usize::from(code.traps.is_empty());
        for (_, why) in &code.traps {
            let text = why.strip_prefix('`').unwrap_or(why);
            let name = text.split([' ', '`']).find(|word| !word.starts_with('@')).unwrap_or(text);
            let reason = why.rsplit_once('(').map_or("", |(_, reason)| reason.trim_end_matches(')'));
            let entry = forms.entry(format!("{name}: {reason}")).or_insert((0, why.clone()));
            entry.0 += 1;
        }
    });
    let mut list: Vec<_> = forms.into_iter().collect();
    list.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (form, (count, example)) in &list {
        println!("{count:6}  {form}   e.g. {example}");
    }
    let missing: u64 = list.iter().map(|(_, (count, _))| count).sum();
    println!("{missing} of {all} instructions have no translation; {whole} of {kernels} functions have all");
}
