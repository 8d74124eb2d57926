-- tied.lua: takes a unique key again whose job holds it until its start, but was not started after all.
--
--   after texts.lua, unique.lua, ties.lua

-- Takes the key again if it is free.
local function retake(turn, text)
  local found = tie_of(text)
  if not found or found.ending ~= 's' then return end
  local kept = redis.pcall('HGET', turn.unique, found.key)
  if type(kept) == 'table' or holder_of(kept, turn.moment) then return end
  redis.pcall('HSET', turn.unique, found.key, kept_of(found.tie, turn.moment))
end

-- The same for a released job, only if the release cost no try.
local function retake_released(turn, token, text)
  if not find(text, TIES, -TIES_WINDOW - WINDOW, true) then return end
  if select(6, read_counters(text)) > select(6, read_counters(token)) then retake(turn, text) end
end
