/** The version of the package. Written out, because bundlers include modules, but not all of them include JSON. */
export const VERSION = '0.1.0';
