/** The only place that draws random numbers; tests of jitter and weights pass a function of their own. */
export type Random = () => number;

/** Uniform in [0, 1). */
export const systemRandom: Random = () => Math.random();
