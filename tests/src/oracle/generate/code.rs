//! Draws the body of a kernel: straight code between branches, loops, switches and worse.

use super::shape::Focus;
use super::writer::Writer;
use super::{Node, calls, carried, divergent, float, integer, memory};

/// How deep structures are nested.
const MAX_DEPTH: usize = 4;

impl Writer<'_> {
    /// A body of about `size` statements.
    pub(super) fn body(&mut self, size: usize) -> Vec<Node> {
        self.budget = size;
        let mut nodes = Vec::new();
        while self.budget > 0 {
            nodes.push(self.node(0));
        }
        nodes
    }

    /// The body of a function, whose loops hold no loops: kernels call it in loops.
    pub(super) fn function_body(&mut self, size: usize) -> Vec<Node> {
        (0..size).map(|_| self.node(MAX_DEPTH - 1)).collect()
    }

    fn nodes(&mut self, depth: usize) -> Vec<Node> {
        let count = self.dice.between(0, 7);
        (0..count).map(|_| self.node(depth)).collect()
    }

    fn node(&mut self, depth: usize) -> Node {
        self.budget = self.budget.saturating_sub(1);
        let flow = match self.focus {
            Focus::Flow => 35,
            Focus::Pressure => 6,
            _ => 12,
        };
        if depth < MAX_DEPTH && self.dice.chance(flow) {
            return self.structure(depth);
        }
        if let (Some(id), true) = (self.breakable, self.dice.chance(4)) {
            let to = self.dice.pick(&["next", "end"]);
            return Node::Line(format!("@{} bra ${to}{id};", self.condition()));
        }
        let leaving = if self.in_function { 40 } else { 8 };
        if !self.in_uniform_loop && self.dice.below(1000) < leaving {
            self.left = true;
            let condition = self.condition();
            return Node::Line(match self.dice.below(2) {
                0 => format!("@{condition} bra $exit;"),
                _ if self.in_function && self.returns => format!("@{condition} ret;"),
                _ if self.in_function => format!("@{condition} bra $exit;"),
                _ => {
                    let value = self.r();
                    format!("@{condition} st.global.u32 [%out+@EARLY@], {value};\n@{condition} ret;")
                }
            });
        }
        if self.calls && self.dice.chance(4) {
            return Node::Line(calls::call(self));
        }
        Node::Line(self.line())
    }

    fn line(&mut self) -> String {
        let looping = self.in_uniform_loop || self.breakable.is_some();
        if self.dice.chance(if looping { 12 } else { 3 }) {
            return carried::copies(self);
        }
        let weights = match self.focus {
            Focus::Integer => [80, 5, 10],
            Focus::Float => [10, 80, 5],
            Focus::Memory => [30, 5, 60],
            Focus::Flow => [70, 10, 10],
            Focus::Mixed | Focus::Pressure => [45, 30, 20],
        };
        if self.in_function && self.dice.chance(15) {
            return memory::of_function(self);
        }
        let at = self.dice.below(100);
        if at < weights[0] {
            integer::line(self)
        } else if at < weights[0] + weights[1] {
            float::line(self)
        } else if at < weights[0] + weights[1] + weights[2] && !self.in_function {
            memory::line(self)
        } else {
            integer::predicate(self)
        }
    }

    fn structure(&mut self, depth: usize) -> Node {
        match self.dice.below(26) {
            23..=25 => divergent::node(self),
            0..=6 => self.alternative(depth),
            20..=22 => self.rolled(depth),
            7..=10 => self.repetition(depth),
            11 | 12 => self.diverged(|w| w.irreducible(depth)),
            13..=16 => self.diverged(|w| w.forward(depth)),
            17 if !self.in_function => memory::masked(self),
            _ => self.diverged(|w| w.switch(depth)),
        }
    }

    /// Draws a construct whose parts are not executed by all threads together.
    fn diverged<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let (uniform, breakable) = (self.uniform, self.breakable);
        self.uniform = false;
        let drawn = draw(self);
        (self.uniform, self.breakable) = (uniform, breakable);
        drawn
    }

    /// Instructions that set the counter of `id` to the same small number in all threads of a block.
    fn uniform_count(&mut self, id: usize, most: usize) -> String {
        match self.dice.below(3) {
            0 => format!("mov.u32 %c{id}, {};", self.dice.between(1, most)),
            1 => format!("mov.u32 %c{id}, %ctaid.x;\nand.b32 %c{id}, %c{id}, 3;\nadd.s32 %c{id}, %c{id}, 1;"),
            _ => format!("ld.param.u32 %c{id}, [p_word];\nand.b32 %c{id}, %c{id}, 3;"),
        }
    }

    fn alternative(&mut self, depth: usize) -> Node {
        let id = self.id();
        if self.uniform && !self.left && self.dice.chance(25) {
            let count = self.uniform_count(id, 3);
            let setup = format!("{count}\nsetp.ne.s32 %q{id}, %c{id}, {};", self.dice.below(4));
            let then = self.nodes(depth + 1);
            let otherwise = if self.dice.chance(50) { self.nodes(depth + 1) } else { Vec::new() };
            return Node::If { id, setup, condition: format!("%q{id}"), then, otherwise };
        }
        let condition = self.condition();
        let breakable = self.breakable;
        self.diverged(|w| {
            w.breakable = breakable;
            let then = w.nodes(depth + 1);
            let otherwise = if w.dice.chance(50) { w.nodes(depth + 1) } else { Vec::new() };
            Node::If { id, setup: String::new(), condition, then, otherwise }
        })
    }

    fn repetition(&mut self, depth: usize) -> Node {
        let id = self.id();
        let tests_first = self.dice.chance(40);
        if self.uniform && !self.left && self.dice.chance(40) {
            let trips = self.uniform_count(id, 4);
            let outside = (self.in_uniform_loop, self.breakable.take());
            self.in_uniform_loop = true;
            let body = self.nodes(depth + 1);
            (self.in_uniform_loop, self.breakable) = outside;
            return Node::Loop { id, trips, tests_first, body };
        }
        let trips = self.count(id);
        self.diverged(|w| {
            w.breakable = Some(id);
            let body = w.nodes(depth + 1);
            Node::Loop { id, trips, tests_first, body }
        })
    }

    fn rolled(&mut self, depth: usize) -> Node {
        let id = self.id();
        self.diverged(|w| {
            w.breakable = Some(id);
            let body = w.nodes(depth + 1);
            carried::rolled(w, id, body)
        })
    }

    /// Instructions that set the counter of `id` to a small number of the thread's own.
    fn count(&mut self, id: usize) -> String {
        match self.dice.below(3) {
            0 => format!("mov.u32 %c{id}, {};", self.dice.between(1, 4)),
            1 => format!("and.b32 %c{id}, {}, 3;", self.r()),
            _ => format!("and.b32 %c{id}, %gtid, {};", self.dice.pick(&[1, 3, 5])),
        }
    }

    fn irreducible(&mut self, depth: usize) -> Node {
        let id = self.id();
        let (trips, condition) = (self.count(id), self.condition());
        self.breakable = None;
        let (first, second) = (self.nodes(depth + 1), self.nodes(depth + 1));
        if self.strict() {
            // ptxas counts the rounds in a uniform register though lanes that enter in the middle come apart from the others.
            let body = first.into_iter().chain(second).collect();
            return Node::Loop { id, trips, tests_first: false, body };
        }
        Node::Irreducible { id, trips, condition, first, second }
    }

    fn forward(&mut self, depth: usize) -> Node {
        let id = self.id();
        let count = self.dice.between(2, 6);
        let blocks = (0..count)
            .map(|at| {
                let code = self.nodes(depth + 2);
                let jump = self.dice.chance(75).then(|| (self.condition(), self.dice.between(at + 1, count)));
                (code, jump)
            })
            .collect();
        Node::Forward { id, blocks }
    }

    fn switch(&mut self, depth: usize) -> Node {
        let id = self.id();
        let count = self.dice.between(2, 6);
        let source = self.r();
        let selector = format!("and.b32 %c{id}, {source}, 15;\nmin.u32 %c{id}, %c{id}, {};", count - 1);
        let cases = (0..count).map(|_| self.nodes(depth + 1)).collect();
        Node::Switch { id, selector, cases, falls_through: self.dice.chance(30) }
    }
}
