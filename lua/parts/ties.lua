-- ties.lua: unique keys: which job has one, and who holds it.
--
--   after texts.lua
--
--   `src/payload/ties.ts` says where they stand in a text. A holder is kept as a moment (µs), from which on another may
--   take its key, or 0, a space, and its id.

local TIES, TIES_WINDOW, KEY_LENGTH = ',"ties":"u', 512, 22

-- The unique key that stands in a text. Nil: none.
local function tie_of(text)
  if not find(text, TIES, -TIES_WINDOW - WINDOW, true) then return nil end
  local body_end = read_counters(text)
  if not body_end then return nil end
  local tail = sub(text, math.max(body_end - TIES_WINDOW + 1, 1), body_end)
  local id_start, _, id = find(tail, ',"id":"([^"\\]+)"$')
  if not id_start then return nil end
  local before = string.gsub(sub(tail, 1, id_start - 1), ',"fenceAtRetry":%d+$', '')
  local _, _, ties = find(before, ',"ties":"([^"]*)"$')
  local _, _, ending, key, most = find((ties or '') .. ' ', '^u([es])([%w_-]+):?(%d*) ')
  if not key or #key ~= KEY_LENGTH then return nil end
  return { key = key, id = id, until_start = ending == 's', most = tonumber(most) }
end

-- The id of who holds a key. Nil: nobody, or nobody any more.
local function holder_of(unique, key, moment)
  local _, _, ending, id = find(call('HGET', unique, key) or '', '^(%d+) (.+)$')
  if id and (ending == '0' or tonumber(ending) > moment) then return id end
end

local function held_by(tie, moment)
  return format('%.0f %s', tie.most and moment + tie.most * 1000 or 0, tie.id)
end

-- Frees the key, if this job holds it.
local function leave(unique, tie)
  local held = tie and redis.pcall('HGET', unique, tie.key)
  if type(held) ~= 'string' or select(3, find(held, '^%d+ (.+)$')) ~= tie.id then return end
  redis.pcall('HDEL', unique, tie.key)
end
