//! Few contacts of many.

use crate::border::{Out, export};
use crate::handle::{self, QueryHandle};
use crate::query::Pair;
use crate::values::ContactsView;
use palpate::reduce::four;

/// `palp_reduction`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ReductionValue {
    /// [1]
    pub force_error: f64,
    /// [1]
    pub torque_error: f64,
    /// Whether contacts that were not finite were left out.
    pub non_finite: i32,
    /// 0
    pub reserved: i32,
}

export! {
    /// At most `n` contacts that push as those of the last question do.
    fn palp_query_reduce(
        query: QueryHandle,
        n: usize,
        contacts: Out<'_, ContactsView>,
        reduction: Out<'_, ReductionValue>,
    ) {
        let mut out = contacts.ready("contacts")?;
        handle::with(query, "query", |p| {
            let Pair { query, reducer, reduced, .. } = p;
            let r = reducer.reduce(query.last(), n, reduced);
            out.put(ContactsView::new(reduced, query.stats().non_finite));
            if let Some(mut reduction) = reduction.optional() {
                reduction.put(ReductionValue {
                    force_error: r.force_error,
                    torque_error: r.torque_error,
                    non_finite: r.non_finite.into(),
                    reserved: 0,
                });
            }
            Ok(())
        })
    }

    /// Up to four of the contacts of the last question: the deepest, then those that span the largest area.
    fn palp_query_four(query: QueryHandle, contacts: Out<'_, ContactsView>) {
        let mut out = contacts.ready("contacts")?;
        handle::with(query, "query", |p| {
            let Pair { query, reduced, .. } = p;
            let last = query.last();
            (reduced.origin, reduced.swapped) = (last.origin, last.swapped);
            reduced.list.clear();
            reduced.list.extend(four(last).indices().iter().filter_map(|i| last.list.get(*i)));
            out.put(ContactsView::new(reduced, query.stats().non_finite));
            Ok(())
        })
    }
}
