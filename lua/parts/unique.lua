-- unique.lua: the holders of unique keys.
--
--   The value of a key: the moment (µs) from which on another job may take it, or 0; a space; and the id of its holder.
--   The tie that a client passes for a job: the milliseconds for which it holds the key at most, or 0; a space; and its
--   id. So for most jobs both are the same text. For keys of debounced jobs see debounce.lua.

local KEPT_FORM = '^([%d:]+) (.+)$'

-- The id of a key's holder, by its value. Nil: nobody holds it, or nobody any more.
local function holder_of(kept, moment)
  local _, _, ending, id = find(kept or '', KEPT_FORM)
  if id and (ending == '0' or tonumber(ending) > moment) then return id end
end

-- The value of a key that a job takes now.
local function kept_of(tie, moment)
  if sub(tie, 1, 2) == '0 ' then return tie end
  local _, _, most, id = find(tie, KEPT_FORM)
  return format('%.0f %s', moment + tonumber(most) * 1000, id)
end

local function is_held(kept, tie)
  return kept and select(4, find(kept, KEPT_FORM)) == select(4, find(tie, KEPT_FORM))
end

-- The keys that are held by the job with the tie at the same place, with false at the other places. Nil: there are
-- none.
local function held_among(unique, keys, ties)
  local held, any = call('HMGET', unique, unpack(keys)), nil
  for i, kept in ipairs(held) do
    local tie = ties[i]
    held[i] = (kept == tie or is_held(kept, tie)) and keys[i]
    any = any or held[i]
  end
  return any and held
end

-- The same, after checking that they may be freed.
local function ask_to_leave(unique, keys, ties)
  local held = held_among(unique, keys, ties)
  if held then call('HDEL', unique, nobody()) end
  return held
end

-- Frees such keys; with `results`, only where the result is 1.
local function free(unique, held, results)
  local keys = {}
  for i, key in ipairs(held or {}) do
    if key and (not results or results[i] == 1) then keys[#keys + 1] = key end
  end
  if #keys > 0 then redis.pcall('HDEL', unique, unpack(keys)) end
end

-- Frees the keys that these jobs hold.
local function leave(unique, keys, ties)
  if #keys == 0 then return end
  local told, held = pcall(held_among, unique, keys, ties)
  if told then free(unique, held) end
end
