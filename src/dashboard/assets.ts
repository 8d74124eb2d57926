/** The style, script and icon of all pages, at addresses that change with their content. */
import { hash } from 'node:crypto';
import { assetText } from './asset-text';
import type { Answer } from './http/answer';

/** The type of each, and the files that are sent as one. */
const ASSETS = {
  'style.css': { type: 'text/css; charset=utf-8', files: ['style.css'] },
  'script.js': { type: 'text/javascript; charset=utf-8', files: ['morph.js', 'script.js'] },
  'icon.svg': { type: 'image/svg+xml', files: ['icon.svg'] },
} as const;

type Asset = keyof typeof ASSETS;

const texts = new Map<Asset, string>();

/** `style.1a2b3c4d.css`: browsers may cache it for ever. */
export function assetAddress(asset: Asset): string {
  const [name, extension] = asset.split('.');
  return `${name}.${hash('sha256', textOf(asset)).slice(0, 8)}.${extension}`;
}

/** Undefined if there is no such asset. */
export function assetNamed(name: string): Answer | undefined {
  const asset = (Object.keys(ASSETS) as Asset[]).find((each) => name === assetAddress(each));
  if (asset === undefined) return undefined;
  const headers = { 'content-type': ASSETS[asset].type, 'cache-control': 'private, max-age=31536000, immutable' };
  return { status: 200, headers, body: textOf(asset) };
}

/** Removes comments and indentation. Each line of these files is either a comment or contains none. */
function compact(text: string): string {
  return text.replace(/^\s*(?:\/\*[^]*?\*\/|\/\/.*)$/gm, '').replace(/^\s+/gm, '');
}

function textOf(asset: Asset): string {
  const text = texts.get(asset) ?? ASSETS[asset].files.map(assetText).map(compact).join('');
  texts.set(asset, text);
  return text;
}
