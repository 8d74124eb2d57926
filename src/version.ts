/** The version of the package. Written out: bundlers take modules along, and not all of them take JSON. */
export const VERSION = '0.1.0';
