//! Directives of a module, heads of kernels and functions.

use super::super::ast::{FileAst, FunctionAst, VarDecl};
use super::super::diagnostic::Diagnostic;
use super::super::lexer::{Punct, TokenKind};
use super::super::module::{Limits, Linkage};
use super::{Failed, Parsed, Parser};

impl<'a> Parser<'a, '_> {
    /// The whole file.
    pub(super) fn file(&mut self) -> FileAst<'a> {
        let mut file = FileAst::default();
        self.header_order();
        while self.kind() != TokenKind::End {
            let start = self.at;
            if self.module_item(&mut file).is_err() {
                self.recover_item(start);
            }
        }
        file
    }

    /// A file begins with `.version`, and `.target` is next.
    fn header_order(&mut self) {
        let place =
            |word: &str, this: &Self| this.tokens.iter().position(|token| this.text_of(*token) == word);
        let (Some(version), Some(target)) = (place(".version", self), place(".target", self)) else { return };
        let misplaced = if version > 0 {
            (version, "`.version` is not at the start of the file", "make it the first directive")
        } else if target > 2 {
            (target, "`.target` is not right after `.version`", "make it the second directive")
        } else {
            return;
        };
        let (at, message, help) = misplaced;
        self.diagnostics.push(Diagnostic::error(self.tokens[at].span, message).with_help(help));
    }

    /// One directive, declaration or function of the module.
    fn module_item(&mut self, file: &mut FileAst<'a>) -> Parsed<()> {
        if self.kind() == TokenKind::DwarfLine {
            self.at += 1;
            return Ok(());
        }
        if self.is(Punct::RightBrace) {
            let span = self.advance().span;
            self.diagnostics.push(Diagnostic::error(span, "this `}` closes nothing"));
            return Ok(());
        }
        match self.dot() {
            "version" => self.version(file),
            "target" => self.target(file),
            "address_size" => {
                let span = self.advance().span;
                let bits = self.expect_u32("an address size")?;
                file.address_bits = Some((bits, span.to(self.previous())));
                Ok(())
            }
            "file" => self.file_directive(file),
            "section" => self.section(),
            "loc" => self.loc().map(|_| ()),
            "pragma" => {
                let pragmas = self.pragma()?;
                file.pragmas.extend(pragmas);
                Ok(())
            }
            "alias" => {
                self.at += 1;
                let alias = self.expect_word("the alias")?;
                self.expect(Punct::Comma, "`,`")?;
                let target = self.expect_word("the function it stands for")?;
                file.aliases.push((alias, target));
                self.semicolon()
            }
            _ if self.starts_function() => {
                let function = self.function()?;
                file.functions.push(function);
                Ok(())
            }
            _ if self.starts_declaration() => {
                let decl = self.var_decl()?;
                file.vars.push(decl);
                self.semicolon()
            }
            _ => self.expected("a directive, a variable or a function"),
        }
    }

    /// Whether a directive, a declaration or a function of the module begins here, other than `.pragma`, which a
    /// function's head may hold too.
    fn starts_item(&self) -> bool {
        matches!(self.kind(), TokenKind::End | TokenKind::DwarfLine)
            || matches!(
                self.dot(),
                "version" | "target" | "address_size" | "file" | "section" | "loc" | "alias"
            )
            || self.starts_function()
            || self.starts_declaration()
    }

    /// Resumes after a broken item: behind its `;` or closing brace, or where a function begins.
    fn recover_item(&mut self, start: usize) {
        if self.at == start {
            self.advance();
        }
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Punct(Punct::Semicolon) if open == 0 => {
                    self.at += 1;
                    return;
                }
                TokenKind::Punct(Punct::LeftBrace) => open += 1,
                TokenKind::Punct(Punct::RightBrace) if open <= 1 => {
                    self.at += 1;
                    return;
                }
                TokenKind::Punct(Punct::RightBrace) => open -= 1,
                _ if self.starts_function() => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `.version major.minor`.
    fn version(&mut self, file: &mut FileAst<'a>) -> Parsed<()> {
        let span = self.advance().span;
        if self.kind() != TokenKind::Float {
            return self.expected("a version such as `8.7`");
        }
        let token = self.advance();
        let parts = self.text_of(token).split_once('.');
        let numbers = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match numbers {
            Some(version) => file.version = Some((version, span.to(token.span))),
            None => return self.fail(token.span, "malformed version; write it as `8.7`"),
        }
        Ok(())
    }

    /// `.target sm_75, debug`.
    fn target(&mut self, file: &mut FileAst<'a>) -> Parsed<()> {
        self.at += 1;
        let names = self.comma_list(|parser| parser.expect_word("a target such as `sm_75`"))?;
        file.target.extend(names);
        Ok(())
    }

    /// `.file number "path", time, size`.
    fn file_directive(&mut self, file: &mut FileAst<'a>) -> Parsed<()> {
        self.at += 1;
        let number = self.expect_u32("a file number")?;
        let path = self.expect_string("a quoted path")?;
        if self.eat(Punct::Comma) {
            self.comma_list(|parser| match parser.kind() {
                TokenKind::Int => Ok(parser.advance()),
                _ => parser.expected("the file's time stamp or size"),
            })?;
        }
        file.files.push((number, path));
        Ok(())
    }

    /// `.section .name { … }`: debug data, skipped.
    fn section(&mut self) -> Parsed<()> {
        let span = self.advance().span;
        if !matches!(self.kind(), TokenKind::Dot | TokenKind::Word | TokenKind::Str) {
            return self.expected("the section's name");
        }
        self.at += 1;
        self.expect(Punct::LeftBrace, "`{`")?;
        let mut open = 1usize;
        while open > 0 {
            match self.advance().kind {
                TokenKind::Punct(Punct::LeftBrace) => open += 1,
                TokenKind::Punct(Punct::RightBrace) => open -= 1,
                TokenKind::End => return self.fail(span, "this section is never closed"),
                _ => {}
            }
        }
        Ok(())
    }

    /// `.pragma "…", "…";`.
    pub(super) fn pragma(&mut self) -> Parsed<Vec<String>> {
        self.at += 1;
        let pragmas = self.comma_list(|parser| parser.expect_string("a quoted pragma"))?;
        self.semicolon()?;
        Ok(pragmas)
    }

    /// Linkage directives, if there are any.
    pub(super) fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        loop {
            linkage = match self.dot() {
                "visible" => Linkage::Visible,
                "extern" => Linkage::Extern,
                "weak" => Linkage::Weak,
                "common" => Linkage::Common,
                _ => return linkage,
            };
            self.at += 1;
        }
    }

    /// `.entry …` or `.func …`, with or without a body.
    fn function(&mut self) -> Parsed<FunctionAst<'a>> {
        let linkage = self.linkage();
        let is_kernel = self.dot() == "entry";
        self.at += 1;
        let mut noreturn = self.eat_dot("noreturn");
        self.attribute()?;
        let returns = if self.is(Punct::LeftParen) { self.param_list()? } else { Vec::new() };
        let name = self.expect_word("the function's name")?;
        let params = if self.is(Punct::LeftParen) { self.param_list()? } else { Vec::new() };
        let mut limits = Limits::default();
        let mut pragmas = Vec::new();
        // Up to CUDA 4.0 nvcc wrote declarations of functions without a semicolon, and ptxas reads them to this day.
        let ends = |this: &Self| if is_kernel { this.starts_function() } else { this.starts_item() };
        while self.kind() == TokenKind::Dot && !ends(self) {
            let start = self.at;
            if self.function_directive(&mut limits, &mut pragmas, &mut noreturn).is_err() {
                self.skip_directive(start);
            }
        }
        let body = if self.is(Punct::LeftBrace) {
            Some(self.function_body()?)
        } else {
            if is_kernel || !self.starts_item() {
                self.semicolon()?;
            }
            None
        };
        if is_kernel && !returns.is_empty() {
            self.diagnostics.push(Diagnostic::error(name.span, "a kernel has no return values"));
        }
        Ok(FunctionAst { name, is_kernel, linkage, returns, params, noreturn, limits, pragmas, body })
    }

    /// `(.param …, .reg …)`.
    pub(super) fn param_list(&mut self) -> Parsed<Vec<VarDecl<'a>>> {
        self.expect(Punct::LeftParen, "`(`")?;
        if self.eat(Punct::RightParen) {
            return Ok(Vec::new());
        }
        let params = self.comma_list(Self::param)?;
        self.expect(Punct::RightParen, "`,` or `)`")?;
        Ok(params)
    }

    /// One directive between a function's parameters and its body.
    fn function_directive(
        &mut self,
        limits: &mut Limits,
        pragmas: &mut Vec<String>,
        noreturn: &mut bool,
    ) -> Parsed<()> {
        let word = self.dot();
        if word == "pragma" {
            pragmas.extend(self.pragma()?);
            return Ok(());
        }
        let directive = self.advance();
        match word {
            "maxntid" => limits.max_threads = Some(self.dimensions()?),
            "reqntid" => limits.required_threads = Some(self.dimensions()?),
            "reqnctapercluster" => limits.cluster_blocks = Some(self.dimensions()?),
            "minnctapersm" => limits.min_blocks_per_sm = Some(self.expect_u32("a number of blocks")?),
            "maxnctapersm" => limits.max_blocks_per_sm = Some(self.expect_u32("a number of blocks")?),
            "maxnreg" => limits.max_registers = Some(self.expect_u32("a number of registers")?),
            "maxclusterrank" => limits.max_cluster_rank = Some(self.expect_u32("a number of blocks")?),
            "explicitcluster" => limits.explicit_cluster = true,
            "blocksareclusters" => limits.blocks_are_clusters = true,
            "noreturn" => *noreturn = true,
            "abi_preserve" | "abi_preserve_control" => {
                self.expect_u32("a number of registers")?;
            }
            "attribute" => {
                self.at -= 1;
                self.attribute()?;
            }
            _ => {
                return self.fail_with(
                    directive.span,
                    format!("unknown function directive `.{word}`"),
                    "between parameters and body stand .maxntid, .reqntid, .minnctapersm, .maxnreg, .pragma, \
                     .noreturn and the cluster directives",
                );
            }
        }
        Ok(())
    }

    /// Up to three numbers; missing ones are 1.
    fn dimensions(&mut self) -> Parsed<[u32; 3]> {
        let start = self.token().span;
        let numbers = self.comma_list(|parser| parser.expect_u32("a dimension"))?;
        if numbers.len() > 3 {
            return self.fail(start.to(self.previous()), "at most three dimensions");
        }
        let mut dimensions = [1; 3];
        dimensions[..numbers.len()].copy_from_slice(&numbers);
        Ok(dimensions)
    }

    /// Skips a broken function directive up to the next one, the body or the end of the declaration.
    fn skip_directive(&mut self, start: usize) {
        if self.at == start {
            self.advance();
        }
        while !matches!(
            self.kind(),
            TokenKind::End | TokenKind::Dot | TokenKind::Punct(Punct::LeftBrace | Punct::Semicolon)
        ) {
            self.at += 1;
        }
    }

    /// `.attribute(.managed, .unified(1, 2))`, if present; returns whether it contains `.managed`.
    pub(super) fn attribute(&mut self) -> Result<bool, Failed> {
        let mut managed = false;
        if !self.eat_dot("attribute") {
            return Ok(managed);
        }
        self.expect(Punct::LeftParen, "`(`")?;
        let mut open = 1usize;
        while open > 0 {
            managed |= self.dot() == "managed";
            match self.kind() {
                TokenKind::Punct(Punct::LeftParen) => open += 1,
                TokenKind::Punct(Punct::RightParen) => open -= 1,
                TokenKind::Dot | TokenKind::Int | TokenKind::Word | TokenKind::Punct(Punct::Comma) => {}
                _ => return self.expected("an attribute or `)`"),
            }
            self.at += 1;
        }
        Ok(managed)
    }
}
