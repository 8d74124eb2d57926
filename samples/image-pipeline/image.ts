/** Small pictures without an image library: a portable pixmap is a line of text, then three bytes for each pixel. */
import { readFile, writeFile } from 'node:fs/promises';

export interface Image {
  readonly width: number;
  readonly height: number;
  readonly points: Buffer;
}

/** Draws waves. Every number gives another picture. */
export function draw(number: number, size: number): Image {
  const points = Buffer.alloc(size * size * 3);
  for (let at = 0; at < points.length; at += 1) {
    const [x, y] = [Math.floor(at / 3) % size, Math.floor(at / 3 / size)];
    points[at] = 128 + 127 * Math.sin((x * (number % 7) + y * (number % 5) + (at % 3) * 40) / size);
  }
  return { width: size, height: size, points };
}

export function resize({ width, height, points }: Image, size: number): Image {
  const resized = Buffer.alloc(size * size * 3);
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const from = (Math.floor((y * height) / size) * width + Math.floor((x * width) / size)) * 3;
      points.copy(resized, (y * size + x) * 3, from, from + 3);
    }
  }
  return { width: size, height: size, points: resized };
}

export async function write(file: string, { width, height, points }: Image): Promise<void> {
  await writeFile(file, Buffer.concat([Buffer.from(`P6 ${width} ${height} 255\n`), points]));
}

/** @throws if the file is not a pixmap written by `write` */
export async function read(file: string): Promise<Image> {
  const bytes = await readFile(file);
  const end = bytes.indexOf('\n') + 1;
  const [, width, height] = /^P6 (\d+) (\d+) 255\n$/.exec(bytes.toString('latin1', 0, end)) ?? [];
  if (width === undefined || height === undefined) throw new Error(`${file} is not a picture`);
  return { width: Number(width), height: Number(height), points: bytes.subarray(end) };
}
