/** `$1`, `$2`, … as `?`: in our statements they stand in their order, each once. */
export const inOrder = (text: string): string => text.replaceAll(/\$\d+/g, '?');
