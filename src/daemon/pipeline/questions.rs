//! Requests of commands, answered from the pipeline's state, one between two messages.

use super::super::control::{Question, Request, World, answer_from};
use super::Pipeline;

impl Pipeline {
    pub(super) fn answer(&mut self, question: Question) {
        let Question { request, reply } = question;
        let changes_debts = matches!(request, Request::Retry { .. } | Request::Drop { .. });
        let (snapshot, debts) = (self.common.snapshot.get(), self.debts());
        let answer = {
            let world = World {
                engine: &self.engine,
                log: &mut self.log,
                debts,
                snapshot: &snapshot,
                muted: &self.muted,
                store: &mut self.common.store.lock(),
                mails: self.mail_writer.is_some(),
                now: self.now,
            };
            answer_from(world, request)
        };
        // The client may have gone.
        let _ = reply.send(answer);
        let taken = self.take_decisions();
        if changes_debts {
            self.senders.try_now();
        }
        let committed = taken.and_then(|()| self.commit());
        self.note_store_result(committed);
        self.dispatch();
    }
}
