"""The models that a server has, by OpenAI's SDK."""

import openai
from ask import each


def get(url):
    base = url.removesuffix("/models")
    client = openai.OpenAI(api_key="none", base_url=base, max_retries=0, timeout=10)
    return 200, ", ".join(model.id for model in client.models.list())


each(get)
