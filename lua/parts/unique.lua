-- unique.lua: who holds the unique keys of jobs.
--
--   What is kept of a key: a moment (µs), from which on another may take it, or 0; a space; and the id of its holder.
--   What the client says of a job that has one, its tie: for how many milliseconds it holds the key at most, or 0; a
--   space; and its id. So for most jobs the two are one text. Of the key of a debounced job, see debounce.lua.

local KEPT_FORM = '^([%d:]+) (.+)$'

-- The id of who holds a key, by what is kept of it. Nil: nobody, or nobody any more.
local function holder_of(kept, moment)
  local _, _, ending, id = find(kept or '', KEPT_FORM)
  if id and (ending == '0' or tonumber(ending) > moment) then return id end
end

-- What is kept of a key that a job takes now.
local function kept_of(tie, moment)
  if sub(tie, 1, 2) == '0 ' then return tie end
  local _, _, most, id = find(tie, KEPT_FORM)
  return format('%.0f %s', moment + tonumber(most) * 1000, id)
end

local function is_held(kept, tie)
  return kept and (kept == tie or select(4, find(kept, KEPT_FORM)) == select(4, find(tie, KEPT_FORM)))
end

-- The keys that the job at the same place among the ties holds, each at its place, with false at the others. Nil: there
-- are none.
local function held_among(unique, keys, ties)
  local held, any = call('HMGET', unique, unpack(keys)), nil
  for i, kept in ipairs(held) do
    held[i] = is_held(kept, ties[i]) and keys[i]
    any = any or held[i]
  end
  return any and held
end

-- The same, once the right to free them is asked for.
local function ask_to_leave(unique, keys, ties)
  local held = held_among(unique, keys, ties)
  if held then call('HDEL', unique, nobody()) end
  return held
end

-- Frees such keys; with `results`, only where that is 1.
local function free(unique, held, results)
  local keys = {}
  for i, key in ipairs(held or {}) do
    if key and (not results or results[i] == 1) then keys[#keys + 1] = key end
  end
  if #keys > 0 then redis.pcall('HDEL', unique, unpack(keys)) end
end

-- Frees the keys, as far as these jobs hold them.
local function leave(unique, keys, ties)
  if #keys == 0 then return end
  local told, held = pcall(held_among, unique, keys, ties)
  if told then free(unique, held) end
end
