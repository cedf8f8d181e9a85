//! A SAT solver with lexicographic minimisation on top.

use rustsat::encodings::card::{BoundUpper, Totalizer};
use rustsat::instances::BasicVarManager;
use rustsat::solvers::{Solve, SolveIncremental, SolverResult};
use rustsat::types::{Clause, TernaryVal, Var};
use rustsat_batsat::BasicSolver;

pub use rustsat::types::Lit;

/// Clauses, and the last solution that was found.
pub struct Solver {
    sat: BasicSolver,
    variables: u32,
    yes: Lit,
    solution: Vec<bool>,
    contradiction: bool,
}

impl Solver {
    pub fn new() -> Solver {
        let mut solver = Solver {
            sat: BasicSolver::default(),
            variables: 0,
            yes: Lit::positive(0),
            solution: Vec::new(),
            contradiction: false,
        };
        solver.yes = solver.fresh();
        let yes = solver.yes;
        solver.add(&[yes]);
        solver
    }

    /// A literal of a new variable.
    pub fn fresh(&mut self) -> Lit {
        let lit = Var::new(self.variables).pos_lit();
        self.variables += 1;
        lit
    }

    /// The literal that always holds.
    pub fn yes(&self) -> Lit {
        self.yes
    }

    /// The literal that never holds.
    pub fn no(&self) -> Lit {
        !self.yes
    }

    /// One of them holds.
    pub fn add(&mut self, clause: &[Lit]) {
        if clause.is_empty() {
            self.contradiction = true;
        } else if !clause.contains(&self.yes) || clause.len() == 1 {
            let clause: Clause = clause.iter().copied().collect();
            let _ = self.sat.add_clause(clause);
        }
    }

    /// At most one of them holds.
    pub fn at_most_one(&mut self, lits: &[Lit]) {
        // pairwise up to a few, else with a chain of "one so far"
        if lits.len() <= 6 {
            for (at, &one) in lits.iter().enumerate() {
                for &other in &lits[at + 1..] {
                    self.add(&[!one, !other]);
                }
            }
            return;
        }
        let mut before: Option<Lit> = None;
        for &lit in lits {
            let so_far = self.fresh();
            self.add(&[!lit, so_far]);
            if let Some(before) = before {
                self.add(&[!before, so_far]);
                self.add(&[!before, !lit]);
            }
            before = Some(so_far);
        }
    }

    /// A literal that holds exactly where all of them do.
    pub fn and(&mut self, lits: &[Lit]) -> Lit {
        let mut lits: Vec<Lit> = lits.iter().copied().filter(|&lit| lit != self.yes).collect();
        lits.dedup();
        match lits[..] {
            [] => self.yes,
            _ if lits.contains(&!self.yes) => !self.yes,
            [one] => one,
            _ => {
                let all = self.fresh();
                let mut back = vec![all];
                for &lit in &lits {
                    self.add(&[!all, lit]);
                    back.push(!lit);
                }
                self.add(&back);
                all
            }
        }
    }

    /// A literal that holds exactly where one of them does.
    pub fn or(&mut self, lits: &[Lit]) -> Lit {
        let negated: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        !self.and(&negated)
    }

    /// Looks for a solution with these assumptions and keeps it.
    pub fn solve(&mut self, assumptions: &[Lit]) -> bool {
        if self.contradiction {
            return false;
        }
        if !matches!(self.sat.solve_assumps(assumptions), Ok(SolverResult::Sat)) {
            return false;
        }
        self.solution = (0..self.variables)
            .map(|index| matches!(self.sat.lit_val(Var::new(index).pos_lit()), Ok(TernaryVal::True)))
            .collect();
        true
    }

    /// Whether a literal holds in the last solution.
    pub fn holds(&self, lit: Lit) -> bool {
        self.solution.get(lit.vidx()).copied().unwrap_or(false) == lit.is_pos()
    }

    /// Makes as few of `costs` hold as can be and fixes that number; false if there is no solution at all.
    pub fn minimise(&mut self, costs: &[Lit]) -> bool {
        // the last solution says nothing of variables that are younger
        if self.solution.len() != self.variables as usize && !self.solve(&[]) {
            return false;
        }
        // what cannot be avoided needs no counting, and it is most
        let count = |solver: &Solver, of: &[Lit]| of.iter().filter(|&&lit| solver.holds(lit)).count();
        let mut least = count(self, costs);
        let mut found = self.solution.clone();
        let held: Vec<Lit> = costs.iter().copied().filter(|&cost| self.holds(cost)).collect();
        let mut open: Vec<Lit> = costs.iter().copied().filter(|&cost| !self.holds(cost)).collect();
        for cost in held {
            if !self.solve(&[!cost]) {
                self.add(&[cost]);
                continue;
            }
            open.push(cost);
            if count(self, costs) < least {
                least = count(self, costs);
                found.clone_from(&self.solution);
            }
        }
        self.solution = found;
        let mut best = count(self, &open);
        if best == 0 {
            for &lit in &open {
                self.add(&[!lit]);
            }
            return true;
        }
        let mut totalizer: Totalizer = open.iter().copied().collect();
        let mut variables = BasicVarManager::from_next_free(Var::new(self.variables));
        if totalizer.encode_ub(0..=best, &mut self.sat, &mut variables).is_err() {
            return true;
        }
        self.variables = rustsat::instances::ManageVars::n_used(&variables);
        while best > 0 {
            let Ok(bound) = totalizer.enforce_ub(best - 1) else { break };
            if !self.solve(&bound) {
                break;
            }
            best = count(self, &open);
        }
        if let Ok(bound) = totalizer.enforce_ub(best) {
            for lit in bound {
                self.add(&[lit]);
            }
        }
        // the last call may have failed: leave a solution that keeps the bound
        self.solve(&[])
    }

    /// Takes the first of `wishes` that can hold and fixes it.
    pub fn prefer(&mut self, wishes: &[Lit]) -> Option<Lit> {
        for &wish in wishes {
            if self.holds(wish) || self.solve(&[wish]) {
                self.add(&[wish]);
                return Some(wish);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest() {
        let mut solver = Solver::new();
        let lits: Vec<Lit> = (0..12).map(|_| solver.fresh()).collect();
        for three in lits.chunks(3) {
            solver.add(three);
        }
        solver.add(&[lits[0]]);
        assert!(solver.minimise(&lits));
        assert_eq!(lits.iter().filter(|&&lit| solver.holds(lit)).count(), 4);
        // the number is fixed: the next aim cannot undo it
        let second: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        assert!(solver.minimise(&second));
        assert_eq!(lits.iter().filter(|&&lit| solver.holds(lit)).count(), 4);
    }

    #[test]
    fn long_at_most_one() {
        let mut solver = Solver::new();
        let lits: Vec<Lit> = (0..20).map(|_| solver.fresh()).collect();
        solver.at_most_one(&lits);
        assert!(solver.solve(&[lits[7]]));
        assert!(!solver.solve(&[lits[7], lits[19]]));
        assert_eq!(solver.prefer(&[lits[3], lits[4]]), Some(lits[3]));
        assert!(solver.prefer(&[lits[4]]).is_none());
    }
}
