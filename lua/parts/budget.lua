-- budget.lua: how many texts one step may still move or look at.

local function new_budget()
  return { jobs = MOST_JOBS, bytes = MOST_BYTES }
end

-- Whether one more text may be moved. The first always may, however long: otherwise it would stay forever.
local function charge(budget, text)
  if budget.jobs == 0 or (budget.jobs < MOST_JOBS and #text > budget.bytes) then return false end
  budget.jobs, budget.bytes = budget.jobs - 1, budget.bytes - #text
  return true
end

-- How many texts to read after a page of this size: as many as fit if they are as long as those before, because reading
-- long texts that do not fit takes as long as moving them. 0: not even one would fit.
local function size_after(size, budget)
  local moved, bytes = MOST_JOBS - budget.jobs, MOST_BYTES - budget.bytes
  return math.max(math.min(PAGE, 4 * size, budget.jobs, math.floor(budget.bytes * moved / bytes)), 0)
end
