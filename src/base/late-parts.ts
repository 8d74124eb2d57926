/**
 * What lower layers call of upper ones, which they must not import: `composition` fills it, before anything runs. Each part is declared
 * where it is called: `declare module '../base/late-parts' { interface LateParts { … } }`.
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface LateParts {}

export const late = {} as LateParts;
