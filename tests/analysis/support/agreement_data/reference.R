# Reference values of ICC and Cohen's kappa for tests/analysis: R 4.2.2, psych 2.2.9, psy 1.2 (Debian bookworm:
# r-cran-psych, r-cran-psy; r-cran-irr is not packaged there). Run once: Rscript reference.R > reference_r.json
suppressMessages({library(psych); library(psy)})

matrices <- list(
  shrout_fleiss_1979 = matrix(c(9,2,5,8, 6,1,3,2, 8,4,6,8, 7,1,2,6, 10,5,6,9, 6,2,4,7), ncol = 4, byrow = TRUE)
)
set.seed(1)
for (i in 1:6) {
  units <- c(5, 8, 20, 40, 12, 30)[i]; raters <- c(2, 3, 4, 6, 10, 2)[i]
  truth <- rnorm(units, 3, c(1, 2, .5, 1, .1, 1.5)[i])
  noise <- matrix(rnorm(units * raters), units) + matrix(rnorm(raters), units, raters, byrow = TRUE)
  matrices[[paste0("random_", i)]] <- round(pmin(pmax(truth + noise, 1), 7))
}
number <- function(x) sprintf("%.15g", x)
vector <- function(x) paste0("[", paste(sapply(x, number), collapse = ", "), "]")
entries <- sapply(names(matrices), function(name) {
  x <- matrices[[name]]
  rows <- paste0("[", paste(apply(x, 1, vector), collapse = ", "), "]")
  r <- ICC(x, lmer = FALSE)$results
  icc <- paste(sprintf('"%s": %s', r$type, sapply(1:6, function(j)
    vector(c(r$ICC[j], r$`lower bound`[j], r$`upper bound`[j])))), collapse = ", ")
  # ckappa is psy's, the quadratic kappa psych's.
  pair <- x[, 1:2]
  kappa <- sprintf('"unweighted": %s, "quadratic": %s', number(ckappa(pair)$kappa),
                   number(cohen.kappa(pair)$weighted.kappa))
  sprintf('  "%s": {"ratings": %s,\n    "icc": {%s},\n    "kappa_of_first_two": {%s}}', name, rows, icc, kappa)
})
cat("{\n", paste(entries, collapse = ",\n"), "\n}\n", sep = "")
