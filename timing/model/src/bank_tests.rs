//! Banks of the built-in configurations.

use crate::config::load;
use warplab_technique::banks::BankMap;

#[test]
fn mappings_stay_within_the_schedulers_share() {
    for mapping in ["warp_skewed", "register", "warp"] {
        let set = [format!("register_file.bank_mapping={mapping}")];
        let map = BankMap::new(&load("titanx-pascal", &set).expect("valid").config);
        for warp in 0..64 {
            let (first, count) = map.share_of(warp);
            assert_eq!((first, count), ((warp % 4 * 4) as u8, 4));
            for reg in 0..=254 {
                assert!((first..first + count).contains(&map.bank(warp, reg)));
            }
        }
    }
    let whole = BankMap::new(&load("gtx480", &[]).expect("valid").config);
    assert_eq!((whole.bank(0, 0), whole.bank(1, 0), whole.bank(1, 15), whole.bank(47, 17)), (0, 1, 0, 0));
}
